// A list of labels that is typed into: keys only point at a label, and Enter takes it.

const LABEL_HINT = "Type a name, then press Enter; Esc cancels";

// The label that typed letters mean: one that begins with them, else one that holds them.
function labelTyped(typed) {
  const names = labels.map((_, code) => labelName(code).toLowerCase());
  const words = typed.toLowerCase();
  const first = names.findIndex((name) => name.startsWith(words));
  return first < 0 ? names.findIndex((name) => name.includes(words)) : first;
}

function labelChoice(id, name, value, take, text = "Other label…") {
  const list = make("select", { id, "aria-label": name, title: LABEL_HINT, autocomplete: "off" },
    make("option", { value: "", text }),
    ...labels.map((_, code) => make("option", { value: code, text: labelName(code) })));
  let typed = "";
  const restore = () => { typed = ""; list.value = value; };
  const point = (index) => {
    list.selectedIndex = Math.min(labels.length, Math.max(1, index));
    say(`${list.selectedOptions[0].textContent}: Enter takes this label, Esc cancels`);
  };
  // What no name holds points at nothing, so that Enter takes no label that was not meant.
  const type = (text) => {
    if (!text) return restore();
    typed = text;
    const code = labelTyped(text);
    if (code !== NONE) return point(code + 1);
    list.value = "";
    return say(`No label has “${show(text, 40)}” in its name`);
  };
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -labels.length, End: labels.length };
  list.addEventListener("keydown", (event) => {
    const { key } = event;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (key === "Escape") { restore(); list.blur(); return; }
    // A space alone opens the list, as everywhere.
    const isLetter = [...key].length === 1 && (key !== " " || typed);
    if (!isLetter && key !== "Enter" && key !== "Backspace" && !steps[key]) return;
    // Left to the browser, a key would change the value, which counts as a choice.
    event.preventDefault();
    event.stopPropagation();
    if (isLetter) type(typed + key);
    else if (key === "Backspace") type(typed.slice(0, -1));
    else if (steps[key]) { typed = ""; point(list.selectedIndex + steps[key]); }
    else if (list.value !== "") {
      const code = Number(list.value);
      list.blur();
      take(code);
    }
  });
  list.addEventListener("change", () => { if (list.value !== "") take(Number(list.value)); });
  list.addEventListener("blur", restore);
  restore();
  return list;
}
