import type { Reply } from './emulated-api.ts'

/** One statement of the interface document as something that can be asked and looked at. */
export type Statement = {
  /** Where the document says it; words after a colon say which part of the statement this is. */
  readonly place: string
  /** The address; `{a}` and others stand for what was recorded. */
  readonly ask: string
  readonly method?: string
  /** Whose key: a plan, or `none`; without it one that may do everything. */
  readonly key?: string
  /** Where in the reply: `status`, `headers.…` or `body.…`; `[*]` is every element of a list. */
  readonly at: string
  /** What must be there: a value, or a test of it, of its row (the innermost `[*]`) and the words. */
  readonly is: unknown
  /** Values that must not pass there; that it is missing never passes. */
  readonly wrong: readonly unknown[]
}

/** Price and size arrays of one side. */
export type Ladder = { readonly price: readonly number[]; readonly size: readonly number[] }

type TextName =
  | 'asset'
  | 'bucket_end'
  | 'bucket_start'
  | 'condition_id'
  | 'end_time'
  | 'event_id'
  | 'event_ticker'
  | 'gamma_market_id'
  | 'market_id'
  | 'market_ticker'
  | 'outcome'
  | 'reason'
  | 'received_time'
  | 'series_ticker'
  | 'source_time'
  | 'start_time'
  | 'status'
  | 'taker_side'
  | 'token_id'
  | 'topic_id'
  | 'window'
  | 'winning_outcome'

/** A row as statements expect it: whatever differs makes their tests fail. */
export type Row = Readonly<Record<TextName, string>> &
  Readonly<Record<'sequence' | 'bid_levels' | 'ask_levels', number>> &
  Readonly<Record<'bids' | 'asks' | 'yes' | 'no', Ladder>> & {
    readonly condition: { readonly id: string; readonly question: string }
    readonly outcomes: readonly {
      readonly label: string
      readonly index: number
      readonly token_id: string
    }[]
    readonly resolution: {
      readonly state: string
      readonly source: string
      readonly reference: { readonly end_price: number }
    }
    readonly settlement: { readonly result: string; readonly settled_time: string }
    /** What the venue said, by its own names. */
    readonly native: {
      readonly seq: number
      readonly taker_side: string
      readonly topic: Readonly<Record<'symbol' | 'slug' | 'chainId', string>> &
        Readonly<Record<'marketTopicId' | 'startDate' | 'participantCount', number>>
      readonly lifecycle: Readonly<Record<'market_ticker', string>>
      readonly market: Readonly<
        Record<'conditionId' | 'tradeVolume' | 'liquidity' | 'ticker' | 'event_ticker', string>
      > & {
        readonly marketId: number
        readonly outcomes: readonly {
          readonly name: string
          readonly index: number
          readonly tokenId: string
        }[]
      }
    }
  }

/** A whole answer. */
export type Body = {
  readonly data: readonly Row[]
  readonly meta: { readonly count: number; readonly notice: unknown }
  readonly pagination: { readonly next_cursor: string; readonly has_more: boolean }
  readonly code: string
  readonly status: number
  readonly type: string
  readonly title: string
  readonly detail: string
  readonly request_id: string
}

/** A test of a value. */
type Holds = (value: never, row: never, words: Words) => boolean

/** What was recorded, by the names in braces. */
export type Words = Readonly<Record<string, string>>

/** What is wrong with a reply; empty where the statement holds. */
export function check(statement: Statement, reply: Reply, words: Words): string[] {
  const { at, is } = statement
  const found = pick(reply, at.split('.'))
  if (found.length === 0) return [`${at}: nothing there`]
  return found.flatMap(({ value, row }) => {
    const isRight =
      typeof is === 'function' ? judge(is as Holds, value, row, words) : same(is, value)
    return isRight ? [] : [`${at}: ${show(value)}`]
  })
}

/** The reply with another value at the last place that the statement looks at; `undefined` removes it. */
export function spoil({ at }: Statement, reply: Reply, wrong: unknown): Reply {
  const { status, headers, body } = reply
  const copy = structuredClone({ status, headers, body })
  const found = pick(copy, at.split('.')).at(-1)
  // Where nothing is, the check has failed already.
  if (found === undefined) return reply
  const { holder, name } = found
  if (wrong !== undefined) holder[name] = wrong
  else if (Array.isArray(holder)) holder[name as number] = null
  else delete holder[name]
  return { ...copy, bytes: reply.bytes }
}

type Holder = Record<string | number, unknown>
type Found = {
  readonly value: unknown
  readonly row: unknown
  readonly holder: Holder
  readonly name: string | number
}

function pick(root: unknown, steps: readonly string[], row?: unknown): Found[] {
  const [step, ...rest] = steps
  const name = step!.replace(/\[\*\]$/, '')
  const holder = root as Holder
  if (typeof root !== 'object' || root === null) return []
  const value = holder[name]
  if (!step!.endsWith('[*]')) {
    return rest.length === 0 ? [{ value, row, holder, name }] : pick(value, rest, row)
  }
  if (!Array.isArray(value)) return []
  if (rest.length > 0) return value.flatMap((element: unknown) => pick(element, rest, element))
  return value.map((element: unknown, index) => ({
    value: element,
    row: element,
    holder: value as unknown as Holder,
    name: index,
  }))
}

// A test that stumbles over a value has refused it.
function judge(holds: Holds, value: unknown, row: unknown, words: Words): boolean {
  try {
    return holds(value as never, row as never, words)
  } catch {
    return false
  }
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, 200)
}
