// Workers of the page: some for what is looked at, and some for replications.

/** A worker with promises in place of messages. */
class Line {
  constructor(url) {
    this.worker = new Worker(url);
    this.waiting = new Map();
    this.next = 0;
    this.worker.onmessage = ({ data: { id, answer, error } }) => {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error === undefined) resolve(answer);
      else reject(new Error(error));
    };
    this.worker.onerror = (event) => {
      for (const { reject } of this.waiting.values()) reject(new Error(event.message || "a worker of this page failed"));
      this.waiting.clear();
    };
  }

  send(message) {
    return new Promise((resolve, reject) => {
      const id = this.next++;
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...message });
    });
  }

  ask(request) {
    return this.send({ request });
  }
}

/** Each line has an instance of the simulator; what one scheme or the watched queue asks goes to one line, in order. */
export class Pool {
  constructor(source, wasm) {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.lines = ["first scheme", "second scheme", "queue"].map(() => {
      const line = new Line(url);
      line.ready = line.send({ load: wasm });
      return line;
    });
  }

  /** The answer of line number 0 or 1, of the schemes, or 2. */
  async ask(number, request) {
    const line = this.lines[number];
    await line.ready;
    return line.ask(request);
  }
}
