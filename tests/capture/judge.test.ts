import type { Gap, GapReason, Micros } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { gatherIncidents, judgeReason, type Incidents } from './gap-reasons.ts'
import { judgeGaps } from './judge-gaps.ts'
import { judgeLosses } from './judge-losses.ts'
import { Reading } from './reading.ts'
import type { Row } from './stored-rows.ts'
import type { Expected } from './wire-log.ts'

const SECOND = 1_000_000
const TOLERANCE = SECOND / 4

/** A message that was on the wire at this second, and the row that it became, received at that second. */
function message(
  at: number,
  row: { sequence: number; received: number } | undefined,
  more: Partial<Expected> = {},
): Expected {
  const { book = 'x', isAnswer = false, seq } = more
  const matched: Row | undefined =
    row === undefined
      ? undefined
      : {
          received: row.received * SECOND,
          sequence: row.sequence,
          book,
          seq: seq ?? -1,
          source: -1,
          isAnswer,
        }
  return {
    at: at * SECOND,
    payload: { kind: 'full', key: 'T', book: { bids: [], asks: [] } },
    book,
    isAnswer,
    isCopy: false,
    delivered: matched !== undefined,
    isSpoiled: false,
    seq,
    connection: 'c1',
    matched,
    ...more,
  }
}

const rowsOf = (messages: readonly Expected[]): Row[] =>
  messages.flatMap(({ matched }) => matched ?? [])

const gapOf = (reason: GapReason, start: number, end: number, afterSequence: number): Gap => ({
  venue: 'venuea',
  scope: 'instrument',
  key: 'T',
  reason,
  start: (start * SECOND) as Micros,
  end: (end * SECOND) as Micros,
  afterSequence,
  journal: 1,
})

describe('the cause of a gap', () => {
  const spoiledAt = (at: number): Incidents => ({
    moments: [{ kind: 'spoiled', at: at * SECOND }],
    spans: [],
  })

  function judge(messages: readonly Expected[], spoiled: number, others: readonly Expected[] = []) {
    const complaints: string[] = []
    const reading = new Reading()
    for (const list of [messages, others]) reading.add(list)
    const wire = { incidents: spoiledAt(spoiled), reading, tolerance: TOLERANCE }
    const all = [...messages, message(spoiled, undefined, { isSpoiled: true })]
    const gap = gapOf('rejected', 12, 14, 1)
    judgeGaps('venuea:T', all, rowsOf(messages), [gap], wire, (text) => complaints.push(text))
    return complaints
  }

  const answer = (made: number) => message(made, { sequence: 1, received: 12 }, { isAnswer: true })
  const after = message(14, { sequence: 2, received: 14 })

  it('lies within it', () => {
    expect(judge([message(12, { sequence: 1, received: 12 }), after], 13)).toEqual([])
    expect(judge([message(12, { sequence: 1, received: 12 }), after], 11)).toHaveLength(2)
  })

  it('may be from before an answer was taken, but not from before it was made', () => {
    expect(judge([answer(10.5), after], 11)).toEqual([])
    expect(judge([answer(11.5), after], 11)).toHaveLength(2)
  })

  it('may be of before the gap where the recorder had read the socket no further', () => {
    const late = message(10.5, { sequence: 7, received: 11.9 })
    const prompt = message(11.8, { sequence: 7, received: 11.9 })
    expect(judge([answer(12), after], 11, [late])).toEqual([])
    expect(judge([answer(12), after], 11, [late, prompt])).toHaveLength(2)
  })
})

describe('a lost message of venue C', () => {
  it('is no loss where an answer held it before', () => {
    const lost = (time: number): number => {
      const payload = { kind: 'change' as const, key: 'T', book: { bids: [], asks: [] }, time }
      const answer = message(2, { sequence: 2, received: 2 }, { isAnswer: true })
      const messages = [
        message(1, { sequence: 1, received: 1 }),
        { ...answer, matched: { ...answer.matched!, source: 2 * SECOND } },
        message(3, undefined, { payload }),
      ]
      return judgeLosses('venuec:T', 'venuec', messages, rowsOf(messages), [], () => undefined).lost
    }
    expect([lost(1999), lost(2000), lost(2001)]).toEqual([0, 0, 1])
  })
})

describe('a frame that was kept back', () => {
  it('is missing from then until it went out', () => {
    const frame = { type: 'frame', venue: 'venueb', connection: 'c1', bytes: 1 } as const
    const incidents = gatherIncidents([
      { ...frame, delivered: 'reordered', at: 10, held: 5, payloads: [] },
    ]).get('venueb')
    expect(judgeReason('sequence_break', 6, 7, incidents)).toBeUndefined()
    expect(judgeReason('sequence_break', 2, 4, incidents)).toBeDefined()
    expect(judgeReason('sequence_break', 11, 12, incidents)).toBeDefined()
  })
})

describe('a row of a spoiled message of venue C', () => {
  it('is believed where it has its time and follows the row before it, also in front of a gap', () => {
    const row = (sequence: number, source: number): Row => ({
      received: 2 * SECOND,
      sequence,
      book: 'lie',
      seq: -1,
      source,
      isAnswer: false,
    })
    const payload = { kind: 'change' as const, key: 'T', book: { bids: [], asks: [] }, time: 2000 }
    const messages = [
      message(1, { sequence: 1, received: 1 }),
      message(2, undefined, { isSpoiled: true, payload }),
      message(4, { sequence: 3, received: 4 }),
    ]
    const believed = (lie: Row): number => {
      const rows = [...rowsOf(messages), lie].toSorted((a, b) => a.sequence - b.sequence)
      const gap = gapOf('rejected', 2, 4, 2)
      return judgeLosses('venuec:T', 'venuec', messages, rows, [gap], () => undefined).believed.size
    }
    expect(believed(row(2, 2 * SECOND))).toBe(1)
    expect(believed(row(2, 3 * SECOND))).toBe(0)
    expect(believed(row(4, 2 * SECOND))).toBe(0)
  })
})

describe('a lost first book of a market of venue B that was polled until then', () => {
  function judge(lost: string, more: Partial<Expected> = {}): string[] {
    const complaints: string[] = []
    const messages = [
      message(1, { sequence: 1, received: 1 }, { isAnswer: true, book: 'polled' }),
      message(2, undefined, { book: lost, seq: 1, ...more }),
      message(3, { sequence: 2, received: 3 }, { book: 'first', seq: 9 }),
    ]
    judgeLosses('venueb:T', 'venueb', messages, rowsOf(messages), [], (text) =>
      complaints.push(text),
    )
    return complaints
  }

  it('is no loss where the next one says the same, and one where anything came between', () => {
    expect(judge('first')).toEqual([])
    expect(judge('other')).toHaveLength(1)
    const payload = {
      kind: 'change' as const,
      key: 'T',
      book: { bids: [], asks: [] },
      levels: [],
    }
    expect(judge('first', { payload })).toHaveLength(1)
  })
})
