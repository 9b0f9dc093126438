/** The element of the page's own HTML with this id. */
export function part<E extends HTMLElement>(id: string, kind: new () => E): E {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`The page has no #${id}.`);
  return found;
}

type Child = Node | string;
type Attributes = Readonly<Record<string, string>>;

/** An element with attributes and children; nothing that is shown passes through HTML. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function button(label: string, pressed: () => void, attributes: Attributes = {}) {
  const made = make('button', { type: 'button', class: 'button', ...attributes }, label);
  made.addEventListener('click', pressed);
  return made;
}

const SVG = 'http://www.w3.org/2000/svg';

/** One of the drawings in the page; it says nothing that the text does not say. */
export function icon(name: string): SVGElement {
  const made = document.createElementNS(SVG, 'svg');
  made.setAttribute('class', `icon icon-${name}`);
  made.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(SVG, 'use');
  use.setAttribute('href', `#icon-${name}`);
  made.append(use);
  return made;
}
