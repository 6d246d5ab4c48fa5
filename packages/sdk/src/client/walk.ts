import { parseEnvelope, type Answer, type Http, type Query } from './http.ts'
import { IncompleteWalkError, PriorbookClientError } from './errors.ts'
import { differenceOf, ReceivedRows } from './receipt.ts'

/** One page of a walk. */
export type Page<Row> = Answer<readonly Row[]> & {
  /** Resumes the walk after this page, here or in another process; null after the last one. */
  readonly resume: string | null
}

/** Options of a walk. */
export type WalkOptions = {
  /** Ends the walk and its current request. */
  readonly signal?: AbortSignal | undefined
  /** A `page.resume`: the walk continues after that page. */
  readonly resume?: string | undefined
}

/**
 * All rows of a request, page by page. Every loop starts over. Failed requests are retried from
 * the last cursor. Where the last page carries a receipt, rows that are missing, repeated or changed
 * throw an `IncompleteWalkError`, after the last row.
 */
export class Walk<Row> implements AsyncIterable<Row> {
  private readonly http: Http
  private readonly path: () => Promise<string>
  private readonly query: Query
  private readonly options: WalkOptions

  constructor(http: Http, path: () => Promise<string>, query: Query, options: WalkOptions) {
    this.http = http
    this.path = path
    this.query = query
    this.options = options
  }

  /** Every row; `pages` also gives gaps and notices. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    const { signal } = this.options
    for await (const page of this.pages()) {
      for (const row of page.data) {
        signal?.throwIfAborted()
        yield row
      }
    }
  }

  /** Every page, with its gaps and notices. */
  async *pages(): AsyncGenerator<Page<Row>, void, undefined> {
    const { signal } = this.options
    const start = parseResume(this.options.resume)
    const { received = new ReceivedRows() } = start
    // A bare cursor does not tell which rows came before it, so the receipt cannot be checked.
    const isBare = start.cursor === undefined && (this.query['cursor'] ?? undefined) !== undefined
    const isWhole = !isBare && start.received !== undefined
    let { cursor } = start
    for (;;) {
      const answer = await this.ask(cursor)
      const { nextCursor, ...rest } = answer
      for (const row of answer.data) received.add(idOf(row))
      const isLast = nextCursor === null
      const resume = isLast ? null : JSON.stringify([nextCursor, received.toJSON()])
      yield { ...rest, resume }
      signal?.throwIfAborted()
      if (isLast) {
        if (isWhole) verify(answer, received)
        return
      }
      if (nextCursor === cursor) {
        throw new PriorbookClientError('bad_answer', 'the cursor does not move on')
      }
      cursor = nextCursor
    }
  }

  /** The first page alone. */
  async page(): Promise<Page<Row>> {
    for await (const page of this.pages()) return page
    throw new PriorbookClientError('bad_answer', 'a walk without a page')
  }

  /** Max rows of the whole walk; `limit` is the size of a page. */
  async *take(count: number): AsyncGenerator<Row, void, undefined> {
    const limit = Math.min(count, Number(this.query['limit'] ?? count))
    let left = count
    if (left <= 0) return
    const walk = new Walk<Row>(this.http, this.path, { ...this.query, limit }, this.options)
    for await (const row of walk) {
      yield row
      if (--left === 0) return
    }
  }

  /** All rows in one list; for requests that are known to be small. */
  async toArray(): Promise<Row[]> {
    const rows: Row[] = []
    for await (const page of this.pages()) for (const row of page.data) rows.push(row)
    return rows
  }

  private async ask(cursor: string | undefined) {
    const { signal } = this.options
    const path = await this.path()
    const query = { ...this.query, cursor: cursor ?? this.query['cursor'] }
    return parseEnvelope<readonly Row[]>(await this.http.getJson(path, query, { signal }))
  }
}

function verify({ meta: { receipt } }: Answer<unknown>, received: ReceivedRows): void {
  // Servers of version 0.1 hashed the ids of rows instead.
  if (receipt === undefined || 'sha256' in receipt) return
  const count = received.count()
  const difference = differenceOf(receipt, count)
  if (difference === undefined) return
  const { rows, instruments = [] } = receipt
  throw new IncompleteWalkError(difference, { rows, instruments }, count)
}

function idOf(row: unknown): string | undefined {
  const id = (row as { readonly id?: unknown } | null)?.id
  // Rows of lists may have names of their own, which have no sequence.
  return typeof id === 'string' && id.includes(':') ? id : undefined
}

function parseResume(text: string | undefined): {
  readonly cursor: string | undefined
  /** Undefined where the rows before the cursor are not known: then the receipt cannot be checked. */
  readonly received: ReceivedRows | undefined
} {
  if (text === undefined) return { cursor: undefined, received: new ReceivedRows() }
  try {
    const [cursor, state] = JSON.parse(text) as [string, Parameters<typeof ReceivedRows.from>[0]]
    if (typeof cursor !== 'string') throw new TypeError('no cursor')
    return { cursor, received: ReceivedRows.from(state) }
  } catch (cause) {
    const detail = 'resume is not what a page of this client gave'
    throw new PriorbookClientError('invalid_option', detail, { cause })
  }
}
