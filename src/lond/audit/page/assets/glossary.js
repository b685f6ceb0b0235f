// The words of the page, explained where they are shown: on hover, by focus or by a tap.

const WORDS = {
  confidence: "How likely the verdict is right: that the suggested label is the true one, that the label is right, or that the image is foreign. Judged by models that were trained without this image.",
  "p-value": "The share of known images with at least as high a foreign score. It is no probability of being foreign.",
  "neighbour margin": "How much more the most similar images support the given label than any other label. Below 0 they prefer another label.",
  "negative margin": "How far the classifier stands behind the given label. Low: no class claims the image.",
  "chance right": "The chance that the given label is the true one. The three chances sum to 100 %.",
  "chance wrong": "The chance that the image belongs to a class, but not to that of its label.",
  "chance foreign": "The chance that the image belongs to no class.",
  "wrong score": "The chance that the label is wrong, though the image belongs to a class.",
  "foreign score": "The chance that the image belongs to no class. Larger is more foreign.",
  order: "The least sure verdicts come first, whatever they say: they are wrong most often, and a decision on them teaches most when the set is judged again. Dark, bright, blurred or uniform pictures called mislabelled or foreign count as no surer than 50 %. Images that you decided on before come last.",
  known: "Images that belong to one of the classes, whatever their label says.",
  doubts: "Images judged mislabelled, foreign or duplicate conflict, and those called clean with a confidence below 50 %. You may decide on any other image as well.",
  unsure: `Shown as unsure, whatever the verdict in audit.csv: called mislabelled or clean, but foreign or the given label is likelier, or called clean with a confidence below ${percent(UNSURE_BELOW)}.${callsForeign && FOREIGN_FROM < 1 ? ` An image is called foreign only from ${percent(FOREIGN_FROM)} on.` : ""}`,
  interval: "The true rate lies in this range with 95 % confidence. The range allows for chance, and for how far such estimates were off on sets whose truth is known.",
  "exact copy": "The same file content, or the same pixels.",
  "near copy": "The same picture scaled, compressed or brightened, as far as small pictures, colours and features tell.",
  quality: "Measured on the picture and compared with the rest of the set. It says nothing about the label, and changes no verdict.",
};
const QUALITY_WORDS = {
  dark: "Even its brightest parts are much darker than usual in this set.",
  bright: "Even its darkest parts are much brighter than usual in this set.",
  blurred: "Far fewer fine details than usual in this set.",
  uniform: "Hardly anything but one colour.",
  "seen in part": "So long that the square by which it was judged, or the three squares of a very long picture, leave out a third of it or more.",
  "odd size": "Far larger or smaller than the other files of the set.",
  "odd shape": "Far wider or taller than the other images of the set. Pictures seen in part are not listed here again.",
  animated: "Holds several pictures; only the first one was looked at.",
  grey: "Has no colour, in a set of colour images.",
};
const explanationOf = (word) => WORDS[word] || QUALITY_WORDS[word] || STYLES[word]?.means || "";

function showExplanation(button) {
  const box = $("explanation");
  box.textContent = button.dataset.explains;
  box.hidden = false;
  const at = button.getBoundingClientRect();
  const left = Math.min(Math.max(8, at.left), window.innerWidth - box.offsetWidth - 8);
  const above = at.bottom + 6 + box.offsetHeight > window.innerHeight;
  box.style.transform = `translate(${left}px, ${above ? at.top - box.offsetHeight - 6 : at.bottom + 6}px)`;
}
const hideExplanation = () => { $("explanation").hidden = true; };

// A word that explains itself.
function term(text, word = text.toLowerCase()) {
  const means = explanationOf(word);
  const button = make("button", { class: "term", type: "button", text, "data-explains": means, "aria-description": means });
  for (const kind of ["mouseenter", "focus", "click"]) button.addEventListener(kind, () => showExplanation(button));
  for (const kind of ["mouseleave", "blur"]) button.addEventListener(kind, hideExplanation);
  button.addEventListener("keydown", (event) => { if (event.key === "Escape") hideExplanation(); });
  return button;
}
