/** Texts of things that change rarely, each rendered once per revision. */
export class TextCache<T extends object> {
  readonly #texts = new WeakMap<T, { readonly revision: number; readonly text: string }>()
  readonly #render: (item: T) => object

  constructor(render: (item: T) => object) {
    this.#render = render
  }

  /** The JSON of an item at this revision. */
  read(item: T, revision: number): string {
    const known = this.#texts.get(item)
    if (known?.revision === revision) return known.text
    const text = JSON.stringify(this.#render(item))
    this.#texts.set(item, { revision, text })
    return text
  }
}
