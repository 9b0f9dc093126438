/** As much of a document as React and Preact need to show a few elements and take a click. */
type Listener = (event: TinyEvent) => void;

interface TinyEvent {
  readonly type: string;
  readonly target: TinyNode;
  readonly bubbles: boolean;
  readonly timeStamp: number;
}

export class TinyNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly ownerDocument: TinyDocument | undefined;
  readonly childNodes: TinyNode[] = [];
  readonly namespaceURI = 'http://www.w3.org/1999/xhtml';
  readonly style = {};
  readonly attributes = new Map<string, string>();
  parentNode: TinyNode | null = null;
  nodeValue: string | null = null;
  readonly #listeners = new Set<readonly [type: string, capture: boolean, listener: Listener]>();

  constructor(nodeType: number, nodeName: string, ownerDocument?: TinyDocument) {
    this.nodeType = nodeType;
    this.nodeName = nodeName;
    this.ownerDocument = ownerDocument;
  }

  get localName(): string {
    return this.nodeName.toLowerCase();
  }
  get tagName(): string {
    return this.nodeName;
  }
  get firstChild(): TinyNode | null {
    return this.childNodes[0] ?? null;
  }
  get lastChild(): TinyNode | null {
    return this.childNodes.at(-1) ?? null;
  }
  get nextSibling(): TinyNode | null {
    const all = this.parentNode?.childNodes ?? [];
    return all[all.indexOf(this) + 1] ?? null;
  }
  get data(): string | null {
    return this.nodeValue;
  }
  set data(text: string) {
    this.nodeValue = text;
  }
  get textContent(): string {
    return this.nodeValue ?? this.childNodes.map((child) => child.textContent).join('');
  }
  set textContent(text: string) {
    for (const child of [...this.childNodes]) this.removeChild(child);
    if (text && this.ownerDocument) this.appendChild(this.ownerDocument.createTextNode(text));
  }

  insertBefore(child: TinyNode, before: TinyNode | null): TinyNode {
    child.parentNode?.removeChild(child);
    const at = before === null ? this.childNodes.length : this.childNodes.indexOf(before);
    this.childNodes.splice(at, 0, child);
    child.parentNode = this;
    return child;
  }
  appendChild(child: TinyNode): TinyNode {
    return this.insertBefore(child, null);
  }
  removeChild(child: TinyNode): TinyNode {
    this.childNodes.splice(this.childNodes.indexOf(child), 1);
    child.parentNode = null;
    return child;
  }
  remove(): void {
    this.parentNode?.removeChild(this);
  }
  contains(other: TinyNode | null): boolean {
    return other === this || (other !== null && this.contains(other.parentNode));
  }

  setAttribute(name: string, value: unknown): void {
    this.attributes.set(name, String(value));
  }
  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }

  addEventListener(type: string, listener: Listener, how?: boolean | { capture?: boolean }): void {
    const capture = typeof how === 'object' ? how.capture === true : how === true;
    this.#listeners.add([type, capture, listener]);
  }
  removeEventListener(type: string, listener: Listener): void {
    for (const entry of this.#listeners) {
      if (entry[0] === type && entry[2] === listener) this.#listeners.delete(entry);
    }
  }
  /** Down to the node and up again, as browsers do. */
  click(): void {
    const path: TinyNode[] = [];
    for (let node: TinyNode | null = this; node; node = node.parentNode) path.push(node);
    const event = { type: 'click', target: this, bubbles: true, timeStamp: performance.now() };
    for (const node of [...path].reverse()) node.#tell(event, true);
    for (const node of path) node.#tell(event, false);
  }
  #tell(event: TinyEvent, capturing: boolean): void {
    for (const [type, capture, listener] of [...this.#listeners]) {
      if (type === event.type && capture === capturing) listener.call(this, event);
    }
  }

  /** The first element of this name. */
  find(name: string): TinyNode | undefined {
    if (this.localName === name) return this;
    return this.childNodes.map((child) => child.find(name)).find((found) => found);
  }
}

export class TinyDocument extends TinyNode {
  readonly documentElement: TinyNode;
  readonly body: TinyNode;
  readonly activeElement = null;

  constructor() {
    super(9, '#document');
    this.documentElement = this.appendChild(this.createElement('html'));
    this.body = this.documentElement.appendChild(this.createElement('body'));
  }

  createElement(name: string): TinyNode {
    return new TinyNode(1, name.toUpperCase(), this);
  }
  createElementNS(_namespace: string, name: string): TinyNode {
    return this.createElement(name);
  }
  createTextNode(text: string): TinyNode {
    const node = new TinyNode(3, '#text', this);
    node.nodeValue = String(text);
    return node;
  }
}
