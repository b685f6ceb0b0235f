// Renders what pymdownx.arithmatex marked as TeX, with the KaTeX beside this file; nothing is loaded from elsewhere.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".arithmatex")) {
    const text = place.textContent.trim();
    katex.render(text.slice(2, -2), place, { displayMode: text.startsWith("\\["), throwOnError: false });
  }
});
