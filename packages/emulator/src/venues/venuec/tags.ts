import type { World } from '../../core/upstream.ts'
import type { EventGroup } from './conditions.ts'
import { wordsOf } from './texts.ts'

/** A tag as Gamma shows it. */
export type Tag = {
  readonly id: string
  readonly label: string
  readonly slug: string
  readonly forceShow: boolean
  readonly createdAt: string
  readonly updatedAt: string
  readonly requiresTranslation: boolean
}

const CRYPTO: Tag = {
  id: '21',
  label: 'Crypto',
  slug: 'crypto',
  forceShow: false,
  createdAt: '2023-11-02T21:24:31.198Z',
  updatedAt: '2026-03-09T22:32:04.396035Z',
  requiresTranslation: false,
}

/** The ids of all other tags are above this. */
const FIRST_ID = 100_000

/** The tags of the venue's events; the same label has the same tag. */
export class Tags {
  readonly #world: World
  readonly #byLabel = new Map([[CRYPTO.label, CRYPTO]])
  readonly #byEvent = new WeakMap<EventGroup, readonly Tag[]>()

  constructor(world: World) {
    this.#world = world
  }

  of(event: EventGroup): readonly Tag[] {
    let tags = this.#byEvent.get(event)
    if (tags === undefined) {
      const { topic } = event.conditions[0]!.proposition
      const labels = topic === undefined ? [CRYPTO.label] : [topic.category, ...topic.tags]
      tags = [...new Set(labels)].map((label) => this.#tag(label))
      this.#byEvent.set(event, tags)
    }
    return tags
  }

  #tag(label: string): Tag {
    let tag = this.#byLabel.get(label)
    if (tag === undefined) {
      const number = Number.parseInt(this.#world.hex(`venuec/tag/${label}`, 8), 16)
      tag = { ...CRYPTO, id: String(FIRST_ID + number), label, slug: wordsOf(label) }
      this.#byLabel.set(label, tag)
    }
    return tag
  }
}
