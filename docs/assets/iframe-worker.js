// Browsers start no worker for a page that was opened as a file, and the search of these pages is one.
// There it runs in a hidden frame instead, which has the same origin.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      const inside = frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.frame = frame
      this.ready = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script")
        script.onload = () => resolve(inside)
        script.onerror = reject
        script.src = new URL(address, location.href).href
        inside.document.body.appendChild(script)
      })
    }

    async postMessage(data) {
      const inside = await this.ready
      inside.dispatchEvent(new inside.MessageEvent("message", { data }))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
