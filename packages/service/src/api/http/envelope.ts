import { JsonText } from '../kit/json-text.ts'
import type { Answer, Meta, Notice } from '../kit/route.ts'
import type { BufferPool, Lent } from './buffers.ts'

/** The version of rows and envelopes; it rises with every addition. */
export const SCHEMA_VERSION = '3.0'

type DataAnswer = Extract<Answer, { kind: 'data' }>

/** Writes the envelope around an answer; the bytes of rows are copied once and never read. */
export function writeEnvelope(
  answer: DataAnswer,
  notice: Notice | undefined,
  pool: BufferPool,
): Lent {
  const { rows, isOne = false } = answer
  const tail = tailOf(answer, notice)
  if (rows === undefined) {
    const data = answer.data === undefined ? 'null' : json(answer.data)
    return { bytes: Buffer.from(`{"data":${data}${tail}`), release: undefined }
  }
  const head = isOne ? '{"data":' : '{"data":['
  const close = isOne ? tail : `]${tail}`
  const end = head.length + rows.length
  // Room for every letter as UTF-8: counting its bytes first costs as much as writing them.
  const { bytes, release } = pool.take(end + close.length * 3)
  bytes.write(head, 0, 'latin1')
  bytes.set(rows, head.length)
  return { bytes: bytes.subarray(0, end + bytes.write(close, end)), release }
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

// What the answer says of itself comes first; what holds for all answers is not said twice.
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
