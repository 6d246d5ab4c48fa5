import { printMicros, VENUE_IDS, type Micros } from '@priorbook/sdk/domain'
import type { Quarantined, StoreReader } from '../store/store.ts'
import { facts, markup, table, type Cell } from './html.ts'
import { toPage } from './page.ts'

const PAGE_MESSAGES = 50
const SHOWN_CHARS = 80
const ROW_BYTES = 16

/** The page of messages that could not be used, newest first; `query` may name a venue. */
export async function toQuarantinePage(
  store: StoreReader,
  query: URLSearchParams,
): Promise<string> {
  const venue = VENUE_IDS.find((one) => one === query.get('venue'))
  const after = parseId(query.get('after') ?? '')
  const found = await store.quarantine({ venue, after, order: 'desc', limit: PAGE_MESSAGES + 1 })
  const shown = found.slice(0, PAGE_MESSAGES)
  const rows = shown.map((message): Cell[] => [
    markup`<a href="/quarantine/${message.id}">${message.id}</a>`,
    message.venue,
    timeOf(message),
    message.code,
    message.detail,
    markup`<code>${toText(message.raw).slice(0, SHOWN_CHARS)}</code>`,
    message.raw.length,
  ])
  const last = found.length > shown.length ? shown.at(-1) : undefined
  const ofVenue = venue === undefined ? '' : `venue=${venue}&`
  const next =
    last === undefined
      ? undefined
      : markup`<p><a rel="next" href="/quarantine?${ofVenue}after=${last.id}">Older messages</a></p>`
  const filters = VENUE_IDS.map((one) => markup` <a href="/quarantine?venue=${one}">${one}</a>`)
  const heads = ['number', 'venue', 'received (UTC)', 'code', 'why', 'begins with', 'bytes']
  const body = markup`<p>Venue: <a href="/quarantine">all</a>${filters}</p>
${table('Newest first', heads, rows, 'Nothing is in quarantine.')}${next}`
  return toPage('Quarantine', body, { here: '/quarantine' })
}

/** The page of one message, with its bytes; undefined where there is none. */
export async function toMessagePage(store: StoreReader, id: number): Promise<string | undefined> {
  const message = await findMessage(store, id)
  if (message === undefined) return undefined
  const { venue, key, journal, code, detail, raw } = message
  const said = facts([
    ['venue', venue],
    ['instrument', key === '' ? 'not understood' : key],
    ['received (UTC)', timeOf(message)],
    ['record of the journal', String(journal)],
    ['code', code],
    ['why', detail],
  ])
  const body = markup`${said}
<p>${raw.length} bytes are kept here, the whole message is in the journal.
<a href="/quarantine/${id}/raw">Download the bytes</a></p>
<h2>As text</h2>
<pre tabindex="0">${toText(raw)}</pre>
<h2>As bytes</h2>
<pre tabindex="0">${toHex(raw)}</pre>`
  return toPage(`Quarantined message ${id}`, body)
}

/** The bytes of a quarantined message; undefined where there is none. */
export async function readRaw(store: StoreReader, id: number): Promise<Uint8Array | undefined> {
  return (await findMessage(store, id))?.raw
}

/** The number of a message as it stands in an address; undefined for other text. */
export function parseId(text: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined
}

async function findMessage(store: StoreReader, id: number): Promise<Quarantined | undefined> {
  const [found] = await store.quarantine({ after: id - 1, limit: 1 })
  return found?.id === id ? found : undefined
}

function timeOf({ received }: Quarantined): string {
  return printMicros(received as Micros)
    .replace('T', ' ')
    .replace('Z', '')
}

function toText(raw: Uint8Array): string {
  return Buffer.from(raw).toString()
}

// Sixteen bytes a line, with their place and their printable characters, as hexdump -C prints them.
function toHex(raw: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < raw.length; at += ROW_BYTES) {
    const part = Buffer.from(raw.subarray(at, at + ROW_BYTES))
    const hex = part
      .toString('hex')
      .replaceAll(/../g, '$& ')
      .padEnd(ROW_BYTES * 3)
    const text = part.toString('latin1').replaceAll(/[^ -~]/g, '.')
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex} |${text}|`)
  }
  return lines.join('\n')
}
