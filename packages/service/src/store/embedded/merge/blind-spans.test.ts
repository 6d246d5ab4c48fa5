import type { Gap, GapReason, Micros } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { planNumbers } from './source.ts'
import { findCommonGaps, Sight } from './blind-spans.ts'
import { toChannel } from '../../../recorder/channel.ts'

function gap(reason: GapReason, start: number, end?: number, after = 0): Gap {
  return {
    venue: 'venueb',
    scope: 'instrument',
    key: 'K',
    reason,
    start: start as Micros,
    ...(end === undefined ? {} : { end: end as Micros }),
    afterSequence: after,
    journal: 1,
  }
}

const ALWAYS = { from: 0, to: 1000 }
const print = (gaps: readonly Gap[]): string[] =>
  gaps.map(({ reason, start, end }) => `${reason} ${start}–${end ?? ''}`)

describe('the gaps that are left', () => {
  it('are where all were blind, with the first reason', () => {
    const one = new Sight([gap('disconnected', 10, 50), gap('rejected', 70, 80)], ALWAYS)
    const two = new Sight([gap('venue_silent', 5, 20), gap('quota', 40, 75)], ALWAYS)
    expect(print(findCommonGaps([one, two]))).toEqual([
      'disconnected 10–20',
      'disconnected 40–50',
      'rejected 70–75',
    ])
    const three = new Sight([gap('quota', 15, 45)], ALWAYS)
    expect(print(findCommonGaps([one, two, three]))).toEqual([
      'disconnected 15–20',
      'disconnected 40–45',
    ])
  })

  it('stay as they are with one recorder, even without a length', () => {
    const gaps = [gap('disconnected', 10, 10), gap('rejected', 20)]
    expect(findCommonGaps([new Sight(gaps, ALWAYS)])).toEqual(gaps)
  })

  it('begin with the first observation of anybody, and end with the last record of all', () => {
    const late = new Sight([gap('late_discovery', 5, 30)], { from: 30, to: 200 })
    const early = new Sight([], { from: 12, to: 300 })
    expect(print(findCommonGaps([late, early]))).toEqual(['late_discovery 5–12'])
    expect(print(findCommonGaps([early, late]))).toEqual(['late_discovery 5–12'])
    const stopped = new Sight([gap('recorder_down', 100)], { from: 0, to: 150 })
    expect(print(findCommonGaps([late, stopped]))).toEqual(['recorder_down 200–'])
    // Nobody says that anything is missing after the end.
    expect(print(findCommonGaps([late, early]).filter(({ start }) => start > 100))).toEqual([])
  })

  it('are one where overlapping gaps are cut to the same start', () => {
    const one = new Sight([gap('sequence_break', 10, 90), gap('sequence_break', 20, 60)], ALWAYS)
    const two = new Sight([gap('quota', 30, 200)], ALWAYS)
    expect(print(findCommonGaps([one, two]))).toEqual(['sequence_break 30–90'])
  })

  it('do not hide the observation between two that touch', () => {
    const split = new Sight([gap('quota', 10, 20, 1), gap('market_closed', 20, 30, 1)], ALWAYS)
    const seen = new Sight([gap('quota', 10, 20, 1), gap('quota', 20, 30, 2)], ALWAYS)
    expect([split.isBlindAt(20), seen.isBlindAt(20)]).toEqual([true, false])
    expect([seen.isBlindAt(10), seen.isBlindAt(11), seen.isBlindAt(30)]).toEqual([
      false,
      true,
      false,
    ])
    expect([seen.isBlindAfter(9), seen.isBlindAfter(20), seen.isBlindAfter(30)]).toEqual([
      false,
      true,
      false,
    ])
  })
})

describe('numbers of a merged journal', () => {
  it('are all different and follow each other, what retention removed in front', () => {
    const applied = [
      { bound: 5, first: 3 },
      { bound: 4, first: undefined },
      { bound: 3, first: 1 },
    ]
    const { all, last } = planNumbers(applied)
    const kept = [3, 4, 5].map((n) => all[0]!.at(n)).concat([1, 2, 3].map((n) => all[2]!.at(n)))
    const gone = [1, 2].map((n) => all[0]!.at(n)).concat([1, 2, 3, 4].map((n) => all[1]!.at(n)))
    const first = gone[0]!
    expect([...gone, ...kept]).toEqual(Array.from({ length: 12 }, (_, at) => first + at))
    expect(last).toBe(first + 11)
    const head = {
      received: 1,
      source: 1,
      venueSeq: 1,
      channel: toChannel(3, 7),
      journal: 4,
      flags: 0,
    }
    expect(all[0]!.headOf(head)).toEqual({
      ...head,
      channel: toChannel(kept[0]!, 7),
      journal: kept[1],
    })
  })

  it('take a gap back to what was known at the bound', () => {
    const [numbers] = planNumbers([{ bound: 5, first: 1 }]).all
    const known = { ...gap('quota', 10, 20), journal: 4, endJournal: 6 }
    expect(numbers!.gapOf(known)).toEqual({ ...gap('quota', 10), journal: numbers!.at(4) })
    expect(numbers!.gapOf({ ...known, journal: 6 })).toBeUndefined()
    expect(() => planNumbers([{ bound: 2 ** 36, first: 1 }])).toThrow('too many records')
  })
})
