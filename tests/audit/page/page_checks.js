() => {
  const channels = (colour) => {
    const context = document.createElement("canvas").getContext("2d");
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const linear = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const contrast = (node) => {
    const [high, low] = [luminance(channels(getComputedStyle(node).color)), luminance(behind(node))].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const hasName = (node) => {
    const others = (node.getAttribute("aria-labelledby") || "").split(" ").filter(Boolean);
    const text = others.map((id) => document.getElementById(id)?.textContent).join("");
    return node.getAttribute("aria-label") || text || node.textContent.trim() || node.labels?.[0]?.textContent.trim();
  };
  const named = "button, select, input, a, dialog, progress, aside, canvas[tabindex], [role=region], [role=img], [role=tabpanel]";
  const short = (node) => node.outerHTML.slice(0, 120);
  const hasText = (node) => [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim());
  const counts = (node) => hasText(node) && node.checkVisibility({ visibilityProperty: true })
    && !node.closest(":disabled, script, noscript, .toast, option");
  return {
    nameless: [...document.querySelectorAll(named)].filter((node) => !hasName(node)).map(short),
    faint: [...document.querySelectorAll("body *")].filter(counts)
      .filter((node) => contrast(node) < (node.matches(".mark") ? 3 : 4.5)).map((node) => `${short(node)} ${contrast(node)}`),
  };
}
