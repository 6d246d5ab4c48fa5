import { describe, expect, it } from 'vitest'
import type { Report } from '../report/index.ts'
import { grid } from '../run.ts'
import type { Params } from '../strategy.ts'
import { deflateSharpe, normalProbability, normalQuantile, sharpeOf } from './deflated-sharpe.ts'
import { randomParams } from './param-space.ts'
import { sweepHtml } from './sweep-html.ts'
import { summarizeSweep } from './sweep-summary.ts'
import { summarizeWalk, walkWindows } from './walk-forward.ts'

describe('the deflated Sharpe ratio', () => {
  // Values of Python's statistics.NormalDist.
  it.each([
    [-3.5, 0.000_232_629_079_035_540_1],
    [-3, 0.001_349_898_031_630_103_5],
    [-1, 0.158_655_253_931_457_07],
    [0, 0.5],
    [0.5, 0.691_462_461_274_013_1],
    [2.9999, 0.998_649_658_717_045],
    [5, 0.999_999_713_348_428_2],
  ])('knows the normal distribution at %d', (x, probability) => {
    expect(normalProbability(x)).toBeCloseTo(probability, 13)
  })

  it.each([
    [1e-9, -5.997_807_015_007_686_5],
    [0.01, -2.326_347_874_040_840_8],
    [0.5, 0],
    [0.975, 1.959_963_984_540_053_6],
    [0.999_999, 4.753_424_308_817_089],
  ])('knows its quantile at %d', (probability, x) => {
    expect(normalQuantile(probability)).toBeCloseTo(x, 8)
  })

  it('gives the numbers of the example in the paper: 0.1132 and 0.9004 for 100 tries, 0.9505 for 46', () => {
    // Five years of daily returns, an annual ratio of 2.5 and a variance of annual ratios of 1/2.
    const sharpe = {
      ratio: 2.5 / Math.sqrt(250),
      observations: 1250,
      skewness: -3,
      kurtosis: 10,
    }
    const spread = Math.sqrt(0.5 / 250)
    // Two values with the wanted sample variance.
    const ratios = [0, spread * Math.SQRT2]
    const deflated = deflateSharpe(sharpe, ratios, 100)
    expect(deflated.expected_best).toBeCloseTo(0.113_172_001_865, 10)
    expect(deflated.probability).toBeCloseTo(0.900_396_834_449, 10)
    expect(deflateSharpe(sharpe, ratios, 46).probability).toBeCloseTo(0.950_501_706_876, 10)
    const five = { ratio: 0.31, observations: 60, skewness: 0.4, kurtosis: 3.8 }
    const other = deflateSharpe(five, [0.1, 0.25, -0.05, 0.31, 0.18], 5)
    expect(other.expected_best).toBeCloseTo(0.167_261_042_913, 10)
    expect(other.probability).toBeCloseTo(0.870_527_270_382, 10)
    // One try is not deflated.
    expect(deflateSharpe(five, [0.31], 1).expected_best).toBe(0)
  })

  it('computes mean by deviation, skewness and kurtosis', () => {
    const sharpe = sharpeOf([1.2, -0.4, 0.9, 2.2, -1.1, 0.3, 0.8, -0.2, 1.7, 0.1])!
    expect(sharpe.ratio).toBeCloseTo(0.546_819_469_409, 11)
    expect(sharpe.skewness).toBeCloseTo(0.053_867_389_305, 11)
    expect(sharpe.kurtosis).toBeCloseTo(2.164_781_738_223, 11)
    expect(sharpe.observations).toBe(10)
    expect(sharpeOf([1, 1, 1])).toBeUndefined()
    expect(sharpeOf([1, 2])).toBeUndefined()
  })
})

describe('random parameters', () => {
  const space = { edge: { low: -1, high: 1, decimals: 2 }, mode: ['a', 'b'], size: [5] }

  it('are within their ranges, all different, and the same for the same seed', () => {
    const sets = randomParams(space, 100, 7)
    expect(new Set(sets.map((set) => JSON.stringify(set))).size).toBe(100)
    for (const { edge, mode, size } of sets) {
      expect(Number.isInteger(Math.round(Number(edge) * 1e6) / 1e4)).toBe(true)
      expect(Math.abs(Number(edge))).toBeLessThanOrEqual(1)
      expect(['a', 'b']).toContain(mode)
      expect(size).toBe(5)
    }
    const { size, mode, edge } = space
    expect(randomParams({ size, mode, edge }, 100, 7)).toEqual(sets)
    expect(randomParams(space, 100, 8)).not.toEqual(sets)
  })

  it('are all that there are where the space is small', () => {
    expect(randomParams({ a: [1, 2], b: [true, false] }, 50, 1)).toHaveLength(4)
  })
})

describe('the windows of a walk forward', () => {
  it('test every time at most once, always right after the training, and never on it', () => {
    for (let train = 1; train < 9; train++) {
      for (let test = 1; test < 9; test++) {
        for (let to = train + test; to < 40; to += 5) {
          const windows = walkWindows(0, to, train, test)
          const tested = new Set<number>()
          for (const { from, split, to: end } of windows) {
            expect([split - from, end - split]).toEqual([train, test])
            for (let at = split; at < end; at++) {
              expect(tested.has(at)).toBe(false)
              tested.add(at)
            }
          }
          // Nothing is left but a rest that is shorter than a test.
          expect(to - train - tested.size).toBeLessThan(test)
          expect(Math.max(...tested)).toBeLessThan(to)
        }
      }
    }
    expect(() => walkWindows(0, 9, 5, 5)).toThrow('shorter than one training and one test')
  })
})

/** A report with what a summary reads. */
function reportOf(params: Params, results: readonly number[]): Report {
  const pnl = results.reduce((sum, value) => sum + value, 0)
  return {
    run: { params },
    headline: { pnl: String(pnl), fees: '1' },
    fills: { count: results.length },
    markets: results.map((own, index) => ({ event: `e${index}`, fills: 1, pnl: String(own) })),
  } as unknown as Report
}

describe('the summary of a walk forward', () => {
  it('counts an event once, however many windows it lasts', () => {
    const step = (results: readonly number[]) => ({
      window: { from: 0, split: 1, to: 2 },
      params: {},
      tries: 3,
      train_pnl: '1',
      test: reportOf({}, results),
    })
    // Events 0 to 3 in three windows: 3, 1.5, −2 and 4 in all.
    const walk = summarizeWalk([step([1, 2]), step([1, -0.5, -3, 4]), step([1, 0, 1])])
    expect(walk.sharpe).toEqual(sharpeOf([3, 1.5, -2, 4]))
    expect(walk.sharpe!.observations).toBe(4)
  })
})

describe('the summary of a sweep', () => {
  const sets = grid({ jump: [600, 1000, 1500], hold: [60, 180], size: [5] })
  const reports = sets.map((params) => {
    const level = (Number(params['jump']) / 100) * (params['hold'] === 60 ? 1 : -1)
    return reportOf(params, [level, level / 2, level + 1])
  })

  it('has the best run with its neighbours, the number of tries and a heat map', () => {
    const summary = summarizeSweep(reports)
    expect(summary.tries).toBe(6)
    expect(summary.best.params).toEqual({ jump: 1500, hold: 60, size: 5 })
    expect(summary.neighbours.map(({ params }) => params)).toEqual([
      { jump: 1000, hold: 60, size: 5 },
      { jump: 1500, hold: 180, size: 5 },
    ])
    expect(summary.heat_map).toEqual({
      x: { param: 'jump', labels: ['600', '1000', '1500'] },
      y: { param: 'hold', labels: ['60', '180'] },
      values: [
        [16, 26, 38.5],
        [-14, -24, -36.5],
      ],
    })
    const ratios = summary.cells.map(({ sharpe }) => sharpe!.ratio)
    expect(summary.deflated).toEqual(deflateSharpe(summary.best.sharpe!, ratios, 6))
    expect(summary.deflated!.expected_best).toBeGreaterThan(0)
  })

  it('is one page with a cell for each pair of values and no address', () => {
    const html = sweepHtml(summarizeSweep(reports))
    expect(html.match(/<rect /g)).toHaveLength(6)
    expect(html).toContain('Best of 6 tries: 38.5 with jump=1500, hold=60, size=5.')
    expect(html.replace('http://www.w3.org/2000/svg', '')).not.toContain('http')
    expect(
      sweepHtml(summarizeSweep([reportOf({ a: '<b>' }, [1]), reportOf({ a: 'c' }, [0])])),
    ).toContain('&lt;b&gt;')
  })

  it('puts many values together into spans, and compares random runs with the nearest', () => {
    const many = Array.from({ length: 60 }, (_, index) => reportOf({ edge: index * 10 }, [-index]))
    const map = summarizeSweep(many).heat_map!
    expect(map.x.labels).toHaveLength(12)
    expect(map.y).toBeNull()
    expect(map.values[0]!.every((value) => value !== null)).toBe(true)
    const scattered = [
      [0, 0, 9],
      [1, 1, 5],
      [2, 9, 1],
    ].map(([a, b, pnl]) => reportOf({ a: a!, b: b! }, [pnl!]))
    expect(summarizeSweep(scattered).neighbours[0]!.params).toEqual({ a: 1, b: 1 })
  })
})
