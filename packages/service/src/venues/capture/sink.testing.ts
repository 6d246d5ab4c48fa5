import { POW10, toMicros, VENUES, type Micros, type TapeEvent } from '@priorbook/sdk/domain'
import { BookAssembler } from '@priorbook/sdk/tape'
import { BookStates } from './book-states.ts'
import {
  toReading,
  type BookRelation,
  type CapturedBook,
  type CaptureNote,
  type CaptureRequest,
  type CaptureSink,
  type Normalizer,
} from './contract.ts'

/** A sink that keeps what a connector gives it, and reads it as a recorder does. */
export interface TestSink extends CaptureSink {
  readonly frames: { readonly slot: number; readonly text: string; readonly parsed: unknown }[]
  readonly answers: { readonly request: CaptureRequest; readonly parsed: unknown }[]
  readonly notes: CaptureNote[]
}

/** Creates a sink that reads messages with a venue's normalizer; it has the wall clock if no other is given. */
export function createTestSink(normalizer: Normalizer, now: () => Micros = wallClock): TestSink {
  const frames: TestSink['frames'] = []
  const answers: TestSink['answers'] = []
  const notes: CaptureNote[] = []
  const books = new Map<string, TestBook>()
  let journal = 0

  function apply(events: readonly TapeEvent[], isAnswer: boolean): void {
    for (const event of events) {
      if (event.kind !== 'snapshot' && event.kind !== 'change' && event.kind !== 'reset') continue
      const { key } = event.instrument
      const book = books.get(key) ?? new TestBook(event)
      books.set(key, book)
      // An answer opens a closed book; beside the frames of an open one it is only compared.
      if (!isAnswer || !book.isOpen) book.apply(event)
    }
  }

  return {
    frames,
    answers,
    notes,
    now,
    steadyNow: now,
    frame(slot, received, bytes, parsed) {
      frames.push({ slot, text: Buffer.from(bytes).toString(), parsed })
      const reading = toReading(() => normalizer.frame(parsed, { received, journal: ++journal }))
      apply(reading.events, false)
      return reading
    },
    position: () => journal,
    answer(request, received, _bytes, parsed) {
      answers.push({ request, parsed })
      const at = { received, journal: ++journal }
      const reading = toReading(() => normalizer.answer(request, parsed, at))
      apply(reading.events, true)
      return reading
    },
    note: (note) => void notes.push(note),
    book: (key) => books.get(key),
  }
}

type BookEvent = TapeEvent & { readonly kind: 'snapshot' | 'change' | 'reset' }

/** A book that is open from a full book to a reset, without the recorder's judgement of losses. */
class TestBook implements CapturedBook {
  changedLevels = 0
  readonly #assembler: BookAssembler
  readonly #states = new BookStates()

  constructor({ instrument }: BookEvent) {
    this.#assembler = new BookAssembler(instrument)
  }

  get isOpen(): boolean {
    return this.#assembler.open
  }

  relate(book: Parameters<CapturedBook['relate']>[0]): BookRelation {
    return this.#states.relate(book)
  }

  apply(event: BookEvent): void {
    if (event.kind === 'reset') return this.#close()
    if (event.kind === 'change' && !this.isOpen) return
    const taken = this.#assembler.take(event)
    if ('violation' in taken) return this.#close()
    const { keys, sizes, source, journal, priceDecimals, instrument } = taken
    this.changedLevels += keys.length
    const scale = POW10[VENUES[instrument.venue].priceDecimals - priceDecimals]!
    for (const [at, key] of keys.entries()) {
      const venueKey = (key >>> 1) * scale * 2 + (key & 1)
      this.#states.change(venueKey, this.#assembler.sizesBefore[at]!, sizes[at]!)
    }
    this.#states.remember(Math.max(0, source), journal)
  }

  #close(): void {
    this.#assembler.close()
    this.#states.clear()
  }
}

function wallClock(): Micros {
  return toMicros(Math.round((performance.timeOrigin + performance.now()) * 1000))
}
