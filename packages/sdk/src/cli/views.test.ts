import { describe, expect, it } from 'vitest'
import { OrderBook, type LiveMessage } from '../client/index.ts'
import { layTable, printBytes, printSpan, ProgressBar } from '../command-line/index.ts'
import { layCalendar } from './commands/coverage.ts'
import { groupDigits, layLadder } from './ladder-view.ts'
import { transferText } from './commands/download.ts'
import { WatchState } from './watch-state.ts'

const plain = (_style: unknown, text: string): string => text

const ROW = {
  venue: 'venueb',
  market_id: 'M',
  token_id: null,
  outcome: 'Yes',
  sequence: 7,
  received_time: '2026-08-11T15:00:01.123456Z',
  source_time: null,
  bids: { price: ['0.52', '0.51', '0.4'], size: ['100', '1234567.5', '1'] },
  asks: { price: ['0.53'], size: ['20'] },
} as const

describe('a ladder', () => {
  it('has the best on top, bars by size, and counts what is below', () => {
    const lines = layLadder(OrderBook.from(ROW), { depth: 2, width: 60, paint: plain })
    expect(lines).toHaveLength(4)
    expect(lines[1]).toMatch(/▕ +100 +0\.52 │ +0\.53 +20 ▏$/)
    expect(lines[2]).toMatch(/█+ 1,234,567\.5 +0\.51 │$/)
    expect(lines[3]!.trim()).toBe('1 more │')
  })

  it('has its decimal points below each other', () => {
    const book = OrderBook.from({
      ...ROW,
      bids: { price: ['0.5', '0.49'], size: ['100', '7.25'] },
      asks: { price: ['0.5125', '0.6'], size: ['11', '99.8'] },
    })
    const lines = layLadder(book, { depth: 3, width: 60, paint: plain }).slice(1)
    const points = lines.map((line) => [...line.matchAll(/\d*\.?\d+/g)].map(pointOf))
    expect(points[0]).toEqual(points[1])
  })

  it('is no wider than it may be, however it is filled', () => {
    for (const width of [44, 60, 96, 300]) {
      const lines = layLadder(OrderBook.from(ROW), { depth: 3, width, paint: plain })
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(Math.max(width, 44))
    }
  })

  it('can be empty', () => {
    const book = OrderBook.from({
      ...ROW,
      bids: { price: [], size: [] },
      asks: { price: [], size: [] },
    })
    expect(layLadder(book, { depth: 3, width: 60, paint: plain })).toHaveLength(2)
  })
})

// Where the decimal point of a number is, or would be.
function pointOf({ index, 0: text }: RegExpExecArray): number {
  return index + `${text}.`.indexOf('.')
}

describe('a watched market', () => {
  const message = (value: object): LiveMessage => value as LiveMessage
  const row = message({
    type: 'snapshot',
    key: 'M',
    sequence: 7,
    previous_sequence: null,
    row: ROW,
  })

  it('is drawn in any size, and tells of what went wrong', () => {
    const state = new WatchState('venueb:M')
    expect(state.draw({ columns: 80, rows: 24 }, 10, plain, 0).join('\n')).toContain('waiting')
    state.introduce('Up or down?', 'open', '2026-08-11T15:15:00.000000Z')
    state.apply(message({ type: 'welcome' }), 0)
    expect(state.apply(row, 1000)).toBe(true)
    const text = state.draw({ columns: 80, rows: 24 }, 10, plain, 1000).join('\n')
    expect(text).toContain('Up or down?')
    expect(text).toContain('closes 2026-08-11 15:15:00 UTC')
    expect(text).toContain('sequence 7')
    expect(text).toContain('● live   0.2 rows/s')
    for (const rows of [5, 8, 12, 40]) {
      for (const columns of [44, 80, 200]) {
        const lines = state.draw({ columns, rows }, 10, plain, 0)
        expect(lines.length).toBeLessThanOrEqual(rows)
        expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns)
      }
    }
    state.apply(message({ type: 'disconnected', reason: 'broken', retry_ms: 250, code: 1006 }), 0)
    expect(state.draw({ columns: 80, rows: 24 }, 10, plain, 0).at(-1)).toContain(
      'reconnecting in 250 ms (broken)',
    )
    state.apply(message({ type: 'hole', after_sequence: 7, sequence: 9 }), 0)
    expect(state.draw({ columns: 99, rows: 24 }, 10, plain, 0).at(-1)).toContain('1 holes')
  })

  it('cuts no word of its status on 80 columns', () => {
    const id = `venuec:0x${'5f'.repeat(32)}`
    const state = new WatchState(id)
    state.introduce('Up or down?', 'open', '2026-08-11T15:15:00.000000Z')
    state.apply(message({ type: 'welcome' }), 0)
    const size = ['12345678901.25', '7654321.5', '1']
    const { bids, asks } = ROW
    const wide = { ...ROW, bids: { ...bids, size }, asks: { ...asks, size: ['10987654321.75'] } }
    state.apply(message({ ...row, row: wide }), 0)
    for (let at = 0; at < 120; at++) {
      const gap = { reason: 'sequence_break', end_time: null, start_time: at }
      state.apply(message({ type: 'gap', gap }), 0)
      state.apply(message({ type: 'hole', after_sequence: 1_000_000, sequence: 9 }), 0)
    }
    const text = state.draw({ columns: 80, rows: 24 }, 10, plain, 0)
    expect(Math.max(...text.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(text.join('\n')).not.toContain('…')
    expect(text[1]).toBe('open   closes 2026-08-11 15:15:00 UTC')
    expect(text.at(-1)).toMatch(/^● live {3}rows after 1000000 are missing .* q quits {3}120 gaps/)
  })

  it('says that a market has closed, which is not a gap', () => {
    const state = new WatchState('venueb:M')
    state.apply(row, 0)
    const gap = { reason: 'market_closed', end_time: null, start_time: 0 }
    state.apply(message({ type: 'gap', gap }), 0)
    const foot = state.draw({ columns: 80, rows: 24 }, 10, plain, 0).at(-1)
    expect(foot).toContain('the market has closed')
    expect(foot).not.toMatch(/\d gaps?/)
  })

  it('says that a book is stale', () => {
    const state = new WatchState('venueb:M')
    state.apply(row, 0)
    const { bids: _, asks: __, ...head } = ROW
    const changes = { side: ['bid'], price: ['0.5'], size: ['1'] }
    const update = { type: 'update', key: 'M', sequence: 12, previous_sequence: 11 }
    expect(state.apply(message({ ...update, row: { ...head, sequence: 12, changes } }), 0)).toBe(
      false,
    )
    expect(state.draw({ columns: 80, rows: 24 }, 10, plain, 0).join('\n')).toContain('stale')
  })
})

describe('a calendar', () => {
  it('has a line a month and a mark a day', () => {
    const day = (text: string, condition: 'available' | 'degraded' | 'missing') => ({
      day: text,
      condition,
      observations: 0,
      observed_ms: 0,
      gap_ms: 0,
      mean_spacing_ms: null,
    })
    const days = [
      day('2026-07-31', 'available'),
      day('2026-08-01', 'degraded'),
      day('2026-08-02', 'missing'),
      day('2026-08-05', 'available'),
    ]
    expect(layCalendar(days, plain)).toEqual([
      '         1   5    10   15   20   25   30',
      `2026-07  ${' '.repeat(30)}█`,
      '2026-08  ▒·  █',
    ])
  })
})

describe('words', () => {
  it('are short', () => {
    expect([999, 1000, 12_345, 999_999, 1.5e9].map(printBytes)).toEqual([
      '999 B',
      '1.00 kB',
      '12.3 kB',
      '1.00 MB',
      '1.50 GB',
    ])
    expect([5, 1500, 65_000, 600_000, 7_200_000, 4e8].map(printSpan)).toEqual([
      '5 ms',
      '1.5 s',
      '65 s',
      '10 min',
      '2 h',
      '4 d',
    ])
    expect(['1', '1234', '1234567.25', '0.5'].map(groupDigits)).toEqual([
      '1',
      '1,234',
      '1,234,567.25',
      '0.5',
    ])
  })

  it('show how far a download is', () => {
    expect(progressLine(500, 1000, 0, 1000)).toBe(
      '████████████░░░░░░░░░░░░  50 %  500 B of 1.00 kB  500 B/s  1.0 s left',
    )
    expect(progressLine(0, 0, 0, 0)).toContain('100 %')
  })

  it('stand in columns, and the one that shrinks gives way', () => {
    const columns = [{ head: 'A' }, { head: 'N', right: true }, { head: 'TITLE', shrinks: true }]
    const rows = [
      ['abc', '1', 'a long title that does not fit'],
      ['d', '22', 'short'],
    ]
    expect(layTable(columns, rows, 20)).toEqual([
      'A     N  TITLE',
      'abc   1  a long tit…',
      'd    22  short',
    ])
  })
})

/** The line that a terminal shows. */
function progressLine(bytes: number, total: number, from: number, ms: number): string {
  let line = ''
  const io = { isErrorTty: true, note: () => {}, draw: (text: string) => void (line += text) }
  new ProgressBar(io, '').update(bytes, total, transferText(bytes, total, from, ms))
  return line.replace('\r', '').replace('\u001B[K', '')
}
