import { TextCache } from '../../core/text-cache.ts'
import type { Condition, EventGroup } from './conditions.ts'
import { toGammaEvent } from './gamma-event.ts'
import { fieldsAfterEvents, fieldsBeforeEvents } from './gamma-market.ts'
import type { Memory } from './memory.ts'
import type { Tags } from './tags.ts'

/** The JSON of markets and events as Gamma shows them. What has not changed is not rendered again. */
export class GammaTexts {
  readonly #memory: Memory
  readonly #tags: Tags
  readonly #heads: TextCache<Condition>
  readonly #tails: TextCache<Condition>
  readonly #events: TextCache<EventGroup>

  constructor(memory: Memory, tags: Tags) {
    this.#memory = memory
    this.#tags = tags
    this.#heads = new TextCache((condition) => fieldsBeforeEvents(condition, memory))
    this.#tails = new TextCache((condition) => fieldsAfterEvents(condition, memory))
    this.#events = new TextCache((event) => toGammaEvent(event, memory))
  }

  /** A market with the event around it, and with its tags where they are wanted. */
  market(condition: Condition, isTagged = false): string {
    const events = `"events":[${this.#event(condition.event)}]`
    const [head, tail] = this.#parts(condition)
    const tags = isTagged ? `,"tags":${JSON.stringify(this.#tags.of(condition.event))}` : ''
    return `{${head},${events},${tail}${tags}}`
  }

  /** An event with its markets and tags. */
  event(event: EventGroup): string {
    const markets = event.conditions.map((condition) => `{${this.#parts(condition).join(',')}}`)
    const tags = JSON.stringify(this.#tags.of(event))
    return `${this.#event(event).slice(0, -1)},"markets":[${markets.join(',')}],"tags":${tags}}`
  }

  // Without their braces, so that fields can be put between them.
  #parts(condition: Condition): readonly [string, string] {
    const revision = this.#memory.revision(condition.proposition)
    const head = this.#heads.read(condition, revision)
    const tail = this.#tails.read(condition, revision)
    return [head.slice(1, -1), tail.slice(1, -1)]
  }

  // A revision only grows, so the sum is another one whenever a market of the event has changed.
  #event(event: EventGroup): string {
    let revision = event.conditions.length
    for (const { proposition } of event.conditions) revision += this.#memory.revision(proposition)
    return this.#events.read(event, revision)
  }
}
