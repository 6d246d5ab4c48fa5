import { createHash } from 'node:crypto'
import { toMicros, type Micros } from '@priorbook/sdk/domain'
import type { StreamRequest } from '@priorbook/sdk/wire'
import type { Clock } from '../../lib/clock.ts'
import type { Store } from '../../store/store.ts'
import { createCursorCodec } from '../cursor.ts'
import type { ApiContext, Grant } from '../route.ts'
import { createTestGrant } from '../caller.testing.ts'
import { openReplay, type Player, type ReplayOutput } from './player.ts'

/** A `replay` message without the members that every replay has. */
export type Asked = Partial<Omit<Extract<StreamRequest, { op: 'replay' }>, 'markets'>> & {
  readonly markets: readonly object[]
}

/** A parsed message; `text` is its raw form. */
export type Seen = {
  readonly type: string
  readonly text: string
  readonly state?: string
  readonly key?: string
  readonly time?: string
  readonly sequence?: number
  readonly previous_sequence?: number | null
  readonly row?: Readonly<Record<string, unknown>>
  readonly gap?: Readonly<Record<string, unknown>>
  readonly rows?: number
  readonly ids_sha256?: string
  readonly notices?: readonly { readonly code: string }[]
  readonly code?: string
  readonly message?: string
}

/** An output that records every message. */
export class Recorded implements ReplayOutput {
  readonly messages: Seen[] = []
  /** Called with every message; false makes the sender wait for `drain`. */
  onMessage: (seen: Seen) => boolean = () => true
  private waiting: (() => void) | undefined

  send(message: string | Uint8Array): boolean {
    const text = typeof message === 'string' ? message : Buffer.from(message).toString()
    const seen = { ...(JSON.parse(text) as Seen), text }
    this.messages.push(seen)
    return this.onMessage(seen)
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting = resolve
    })
  }

  /** Whether the sender waits for `drain`. */
  get isHeld(): boolean {
    return this.waiting !== undefined
  }

  drain(): void {
    const { waiting } = this
    this.waiting = undefined
    waiting?.()
  }

  of(...types: string[]): Seen[] {
    return this.messages.filter(({ type }) => types.includes(type))
  }

  /** The texts of all rows of books, joined as on a page. */
  get bookText(): string {
    return this.of('snapshot', 'update').map(rowText).join(',')
  }

  get last(): Seen {
    return this.messages.at(-1)!
  }
}

/** The text of a message's row, byte for byte. */
export function rowText({ text }: Seen): string {
  return text.slice(text.indexOf(',"row":{') + 7, -1)
}

/** SHA-256 of row ids, each followed by a line feed. */
export function hashIds(messages: readonly Seen[]): string {
  const hash = createHash('sha256')
  for (const { row } of messages) hash.update(`${String(row!['id'])}\n`)
  return hash.digest('hex')
}

/** The context of a server over a store, at a time after all rows. */
export function createContext(store: Store, now: number = Date.UTC(2027, 0) * 1000): ApiContext {
  return {
    store,
    cursors: createCursorCodec([Buffer.from('a secret of tests')]),
    now: () => toMicros(now),
  }
}

/** Opens a replay from 2020 to the context's now, unless asked otherwise. */
export function open(
  context: ApiContext,
  asked: Asked,
  out: ReplayOutput,
  options: { readonly grant?: Grant; readonly clock?: Clock } = {},
): Promise<Player> {
  const request = {
    op: 'replay',
    id: 'r1',
    start_time: '2020-01-01T00:00:00Z',
    end_time: String(context.now()),
    speed: 'max',
    ...asked,
  } as Extract<StreamRequest, { op: 'replay' }>
  return openReplay(context, options.grant ?? createTestGrant(), request, out, options.clock)
}

/** Replays to the end and returns the recorded messages. */
export async function play(context: ApiContext, asked: Asked, grant?: Grant): Promise<Recorded> {
  const out = new Recorded()
  const replay = await open(context, asked, out, grant === undefined ? {} : { grant })
  await replay.ended
  if (replay.failure !== undefined) throw replay.failure
  return out
}

/** Microseconds of a time in a row. */
export function microsOf(text: unknown): number {
  const iso = String(text)
  return Date.parse(iso) * 1000 + Number(iso.slice(23, 26))
}

/** Lets pending promises and immediates run. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) {
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
}

/** A time as the SDK brands it. */
export function micros(value: number): Micros {
  return toMicros(value)
}
