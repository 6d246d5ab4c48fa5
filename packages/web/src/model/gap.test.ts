import type { GapJson } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { gapAt, gapsOfInstrument, gapSentence, withGap } from './gap.ts'

const gap = (more: Partial<GapJson>): GapJson => ({
  venue: 'venuec',
  scope: 'instrument',
  key: 'token-1',
  reason: 'disconnected',
  start_time: 100,
  end_time: 200,
  source_start_time: null,
  source_end_time: null,
  after_sequence: 4,
  detail: null,
  ...more,
})

describe('gaps', () => {
  it('are those of the instrument, its market and its venue', () => {
    const gaps = [
      gap({}),
      gap({ key: 'token-2' }),
      gap({ scope: 'market', key: 'market', start_time: 50 }),
      gap({ scope: 'market', key: 'other' }),
      gap({ scope: 'venue', key: null, start_time: 10 }),
    ]
    const own = gapsOfInstrument(gaps, 'token-1', 'market')
    expect(own.map(({ start, scope }) => [start, scope])).toEqual([
      [10, 'venue'],
      [50, 'market'],
      [100, 'instrument'],
    ])
  })

  it('last from after the last good row to the first good one', () => {
    const spans = gapsOfInstrument([gap({})], 'token-1', 'market')
    expect(gapAt(spans, 100)).toBeUndefined()
    expect(gapAt(spans, 101)).toBe(spans[0])
    expect(gapAt(spans, 200)).toBeUndefined()
    const open = gapsOfInstrument([gap({ end_time: null })], 'token-1', 'market')
    expect(gapAt(open, 1e15)).toBe(open[0])
  })

  it('are replaced when they close', () => {
    const opened = withGap([gap({ reason: 'quota' })], gap({ end_time: null }))
    const closed = withGap(opened, gap({ end_time: 300 }))
    expect(closed).toHaveLength(2)
    expect(closed.at(-1)!.end_time).toBe(300)
  })

  it('have a sentence each, also unknown ones', () => {
    expect(gapSentence('recorder_down')).toBe('The recorder was not running.')
    expect(gapSentence('something_new')).toBe('Nothing was recorded.')
  })
})
