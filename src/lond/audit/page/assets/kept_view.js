// Filters, order and colours, kept for a reload of the page in the same tab of the browser.

const VIEW_KEY = `${STORAGE_KEY}:view`;

function keepView() {
  const kept = [...filter.kinds].map((code) => kindNames[code]);
  const quality = qualityNames.filter((_, bit) => filter.quality & (1 << bit));
  const view = { filter: { ...filter, kinds: kept, quality, called: verdictNames[filter.called] ?? "" }, ...arrangement, colour: $("colour").value };
  try { sessionStorage.setItem(VIEW_KEY, JSON.stringify(view)); } catch { /* a page without a memory begins anew */ }
}

// What was kept, with anything odd left out; null if there is nothing.
function keptView() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(VIEW_KEY));
    if (!kept) return null;
    const text = (name) => (typeof kept.filter[name] === "string" ? kept.filter[name] : "");
    const least = Number(kept.filter.sureness);
    return {
      ...kept,
      filter: {
        given: text("given"), suggested: text("suggested"), decision: text("decision"), text: text("text"),
        called: verdictNames.indexOf(kept.filter.called),
        sureness: least > 0 && least <= 1 ? least : 0,
        quality: qualityNames.reduce((bits, name, bit) => bits | ((kept.filter.quality || []).includes(name) ? 1 << bit : 0), 0),
        range: scores[kept.filter.range?.score] && kept.filter.range.high > kept.filter.range.low ? kept.filter.range : null,
        kinds: new Set(kept.filter.kinds.map((name) => kindNames.indexOf(name)).filter((code) => code >= 0)),
      },
    };
  } catch {
    return null;
  }
}
