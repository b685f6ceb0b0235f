// Browsers refuse workers to pages opened from disk, and the search is one: its script runs in a hidden frame instead.
// The theme would load such a stand-in from the network; the file's name tells it that there is one already.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.document.open();
      inner.deliver = (data) => queueMicrotask(() => this.dispatchEvent(new MessageEvent("message", { data })));
      this.loaded = new Promise((resolve) => { inner.ready = resolve; });
      const script = document.createElement("script");
      script.src = url;
      inner.document.write(
        "<script>postMessage = (data) => deliver(data); importScripts = () => {};</scr" + "ipt>" +
        script.outerHTML + "<script>ready();</scr" + "ipt>");
      inner.document.close();
    }
    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() { this.frame.remove(); }
  };
}
