import { effect } from '@preact/signals'
import { describe, expect, it } from 'vitest'
import { Turns } from './turns.ts'

/** Sixty frames a second, drawn by hand. */
function play(count: number, before: (turns: Turns, frame: number) => void, step = 1000 / 60) {
  let waiting: ((now: number) => void) | undefined
  const frames = {
    request: (turn: (now: number) => void) => ((waiting = turn), 1),
    cancel: () => (waiting = undefined),
  }
  let flushed = 0
  const turns = new Turns(() => flushed++, frames)
  const told: number[] = []
  const calm: number[] = []
  let at = 0
  effect(() => void (turns.told.value > 0 && told.push(at)))
  effect(() => void (turns.calm.value > 0 && calm.push(at)))
  for (at = 0; at < count; at++) {
    before(turns, at)
    const turn = waiting
    waiting = undefined
    turn?.(at * step)
  }
  return { told, calm, flushed, isIdle: waiting === undefined }
}

describe('the turns of a page', () => {
  it('tells ladders every third frame, and figures in frames of their own', () => {
    const { told, calm, flushed } = play(60, (turns) => turns.changed())
    expect(told.length).toBeGreaterThanOrEqual(17)
    for (const [index, frame] of told.slice(1).entries()) {
      expect(frame - told[index]!).toBeGreaterThanOrEqual(3)
    }
    // The second ladder takes the frame after the first.
    for (const frame of calm) {
      expect(told).not.toContain(frame)
      expect(told).not.toContain(frame - 1)
    }
    expect(calm.length).toBeGreaterThanOrEqual(6)
    expect(flushed).toBe(calm.length)
  })

  it('starves nobody where frames are slow', () => {
    const { told, calm } = play(30, (turns) => turns.changed(), 100)
    expect(told.length + calm.length).toBe(30)
    expect(Math.min(told.length, calm.length)).toBeGreaterThanOrEqual(10)
  })

  it('shows a single change soon, and then rests', () => {
    const { told, calm, isIdle } = play(20, (turns, frame) => {
      if (frame === 0) turns.changed()
    })
    expect([told.length, calm.length, isIdle]).toEqual([1, 1, true])
  })

  it('is silent once it is closed', () => {
    const { told, calm } = play(20, (turns, frame) => {
      turns.changed()
      if (frame === 0) turns.close()
      turns.changed()
    })
    expect([told, calm]).toEqual([[], []])
  })
})
