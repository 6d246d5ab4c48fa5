import { effect } from '@preact/signals'
import { describe, expect, it } from 'vitest'
import { RefreshSchedule } from './refresh-schedule.ts'

/** Runs frames by hand, sixty per second. */
function play(
  count: number,
  before: (schedule: RefreshSchedule, frame: number) => void,
  step = 1000 / 60,
) {
  let waiting: ((now: number) => void) | undefined
  const frames = {
    request: (callback: (now: number) => void) => ((waiting = callback), 1),
    cancel: () => (waiting = undefined),
  }
  let flushed = 0
  const schedule = new RefreshSchedule(() => flushed++, frames)
  const ladders: number[] = []
  const figures: number[] = []
  let at = 0
  effect(() => void (schedule.ladders.value > 0 && ladders.push(at)))
  effect(() => void (schedule.figures.value > 0 && figures.push(at)))
  for (at = 0; at < count; at++) {
    before(schedule, at)
    const callback = waiting
    waiting = undefined
    callback?.(at * step)
  }
  return { ladders, figures, flushed, isIdle: waiting === undefined }
}

describe('the refresh schedule of a page', () => {
  it('refreshes ladders every third frame, and figures in other frames', () => {
    const { ladders, figures, flushed } = play(60, (schedule) => schedule.bookChanged())
    expect(ladders.length).toBeGreaterThanOrEqual(17)
    for (const [index, frame] of ladders.slice(1).entries()) {
      expect(frame - ladders[index]!).toBeGreaterThanOrEqual(3)
    }
    // The second ladder is drawn in the frame after the first.
    for (const frame of figures) {
      expect(ladders).not.toContain(frame)
      expect(ladders).not.toContain(frame - 1)
    }
    expect(figures.length).toBeGreaterThanOrEqual(6)
    expect(flushed).toBe(figures.length)
  })

  it('refreshes both where frames are slow', () => {
    const { ladders, figures } = play(30, (schedule) => schedule.bookChanged(), 100)
    expect(ladders.length + figures.length).toBe(30)
    expect(Math.min(ladders.length, figures.length)).toBeGreaterThanOrEqual(10)
  })

  it('shows a single change soon and then stops', () => {
    const { ladders, figures, isIdle } = play(20, (schedule, frame) => {
      if (frame === 0) schedule.bookChanged()
    })
    expect([ladders.length, figures.length, isIdle]).toEqual([1, 1, true])
  })

  it('does nothing once it is closed', () => {
    const { ladders, figures } = play(20, (schedule, frame) => {
      schedule.bookChanged()
      if (frame === 0) schedule.close()
      schedule.bookChanged()
    })
    expect([ladders, figures]).toEqual([[], []])
  })
})
