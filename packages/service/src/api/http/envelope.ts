import { SCHEMA_VERSION } from '@priorbook/sdk/wire'
import { JsonText, type Answer, type Meta, type Notice } from '../route.ts'
import { ROWS_AT } from './page-pool.ts'

type DataAnswer = Extract<Answer, { kind: 'data' }>

const OPEN_LIST = Buffer.from('{"data":[')
const OPEN_ONE = Buffer.from('{"data":')

/** Writes the envelope of an answer; rows get it in place, in their page. */
export function writeEnvelope(answer: DataAnswer, notice: Notice | undefined): Uint8Array {
  const { rows, isOne = false } = answer
  const tail = tailOf(answer, notice)
  if (rows === undefined) {
    const data = answer.data === undefined ? 'null' : json(answer.data)
    return Buffer.from(`{"data":${data}${tail}`)
  }
  const open = isOne ? OPEN_ONE : OPEN_LIST
  const start = ROWS_AT - open.length
  rows.bytes.set(open, start)
  rows.appendText(isOne ? tail : `]${tail}`)
  return rows.bytes.subarray(start, rows.end)
}

function tailOf({ meta, count, nextCursor }: DataAnswer, notice: Notice | undefined): string {
  const { range, gaps, market, notice: own, ...more } = meta
  let text = `,"meta":{"count":${count},"range":${json(range ?? null)}`
  text += `,"gaps":${gaps === undefined || gaps.length === 0 ? '[]' : json(gaps)}`
  text += `,"market":${json(market ?? null)},"schema_version":"${SCHEMA_VERSION}"`
  for (const name in more) {
    if (more[name] !== undefined) text += `,${JSON.stringify(name)}:${json(more[name])}`
  }
  const all = mergeNotices(own, notice)
  if (all !== undefined) text += `,"notice":${json(all)}`
  const next = nextCursor === undefined ? 'null' : JSON.stringify(nextCursor)
  return `${text}},"pagination":{"next_cursor":${next},"has_more":${nextCursor !== undefined}}}`
}

// The notices of the answer come first; the common notice is not repeated.
function mergeNotices(
  own: Meta['notice'],
  common: Notice | undefined,
): Notice | readonly Notice[] | undefined {
  if (own === undefined) return common
  if (common === undefined) return own
  const list = Array.isArray(own) ? (own as readonly Notice[]) : [own as Notice]
  if (list.length === 0) return common
  return list.some(({ code }) => code === common.code) ? own : [...list, common]
}

function json(value: unknown): string {
  return value instanceof JsonText ? value.text : JSON.stringify(value)
}
