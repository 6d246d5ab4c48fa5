import { setTimeout as pause } from 'node:timers/promises'
import { check, type Body, type Row, type Statement, type Words } from '../api/conformance-check.ts'
import { DOCUMENT } from '../api/conformance-document.ts'
import { INTERFACE } from '../api/conformance-interface.ts'
import { RESOURCES } from '../api/conformance-resources.ts'
import type { Reply } from '../api/emulated-api.ts'
import { createService } from '../service-process.ts'
import { createExtraChecks, type ExtraCheck } from './extra-checks.ts'
import { findWords } from './find-words.ts'

// `npm run audit:spec`: every statement of the interface document as checks over HTTP and WebSocket against
// a service that records the emulated venues in a process of its own. Prints the verdict on each statement;
// the last line counts those that hold, and the exit status is 1 unless all do.

// 15-minute rounds last 15 s, so that markets of all venues resolve within a minute.
const SPEED = '60'
const PATIENCE_MS = 180_000
const BASES = ['venuea-prediction', 'venuea-alias']
const PLANS = ['explorer', 'quant']

const service = await createService(['--upstream', 'emulator', '--speed', SPEED])
try {
  await service.start()
  const key = service.keyOf('unlimited')
  const get = async (url: string, more: { key?: string | null; method?: string } = {}) =>
    request(service.url, url, more.key === undefined ? key : more.key, more.method)
  const words = await waitForWords(get)
  const verdicts = new Map<string, string[]>()
  for (const place of DOCUMENT) verdicts.set(place, await judge(place, words, get))
  const restart = async (): Promise<void> => {
    await service.stop()
    await service.start()
  }
  const extra = createExtraChecks({ url: service.url, key, get, restart, words })
  for (const [place, judgeExtra] of Object.entries(extra)) {
    verdicts.set(place, [...(verdicts.get(place) ?? []), ...(await judgeSafely(judgeExtra))])
  }
  report(verdicts)
} catch (error) {
  console.error(service.printed())
  throw error
} finally {
  await service.destroy()
}

type Get = (url: string, more?: { key?: string | null; method?: string }) => Promise<Reply>

async function waitForWords(get: Get): Promise<Words> {
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    const words = await findWords(get)
    if (words !== undefined) return words
    if (Date.now() > until) throw new Error('no resolved markets of all venues within 3 minutes')
    await pause(1000)
  }
}

/** What is wrong with a statement; empty where it holds. */
async function judge(place: string, words: Words, get: Get): Promise<string[]> {
  const checks = [...INTERFACE, ...RESOURCES].filter(
    (statement) => statement.place.split(':')[0] === place,
  )
  if (checks.length === 0) return ['nothing checks it']
  const wrongs: string[] = []
  for (const statement of checks) {
    for (const base of statement.ask.includes('{A}') ? BASES : BASES.slice(0, 1)) {
      wrongs.push(...(await judgeOne(fill(statement, base, words), words, get)))
    }
  }
  return wrongs
}

async function judgeOne(statement: Statement, words: Words, get: Get): Promise<string[]> {
  const { ask, key, method = 'GET' } = statement
  const whose = key !== undefined && PLANS.includes(key) ? service.keyOf(key) : key
  const more = whose === undefined ? {} : { key: whose === 'none' ? null : whose }
  let url = ask
  if (url.includes('{cursor}')) {
    const { body } = await get(url.replace('&cursor={cursor}', ''))
    url = url.replace('{cursor}', (body as Body).pagination.next_cursor)
  }
  const reply = await get(url, { method, ...more })
  return check(statement, reply, words).map((wrong) => `${statement.place} (${url}) ${wrong}`)
}

async function judgeSafely(judgeExtra: ExtraCheck): Promise<string[]> {
  try {
    return await judgeExtra()
  } catch (error) {
    return [String(error)]
  }
}

function fill(statement: Statement, base: string, words: Words): Statement {
  const put = (text: string): string =>
    text.replaceAll(/\{(\w+)\}/g, (_, name: string) => words[name] ?? `{${name}}`)
  const { is, ask } = statement
  return {
    ...statement,
    ask: put(ask.replaceAll('{A}', base)),
    is: typeof is === 'string' ? put(is) : is,
  }
}

async function request(
  base: string,
  url: string,
  key: string | null,
  method = 'GET',
): Promise<Reply> {
  const headers: Record<string, string> = key === null ? {} : { Authorization: `Bearer ${key}` }
  const response = await fetch(base + url, { method, headers })
  const bytes = new Uint8Array(await response.arrayBuffer())
  const text = Buffer.from(bytes).toString()
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    bytes,
    body: isJson ? (JSON.parse(text) as Row) : text,
  }
}

function report(verdicts: ReadonlyMap<string, readonly string[]>): void {
  let held = 0
  for (const [place, wrongs] of verdicts) {
    if (wrongs.length === 0) held++
    console.log(`${wrongs.length === 0 ? 'holds ' : 'BROKEN'}  ${place}`)
    for (const wrong of wrongs.slice(0, 3)) console.log(`          ${wrong}`)
  }
  console.log(`${held} of ${verdicts.size}`)
  process.exitCode = held === verdicts.size ? 0 : 1
}
