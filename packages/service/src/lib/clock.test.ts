import { expect, it } from 'vitest'
import { SYSTEM_CLOCK } from './clock.ts'
import { ManualClock } from './clock.testing.ts'

it('a manual clock runs timers in the order in which they fall due', async () => {
  const clock = new ManualClock(0)
  const ran: string[] = []
  const note = (name: string) => () => void ran.push(`${name} ${clock.monotonicMs()}`)
  clock.setTimeout(note('late'), 30)
  const every = clock.setInterval(note('every'), 20)
  clock.setTimeout(note('cancelled'), 25).cancel()
  await clock.advance(45)
  every.cancel()
  await clock.advance(100)
  expect(ran).toEqual(['every 20', 'late 30', 'every 40'])
  expect([clock.now(), clock.timers]).toEqual([145_000, 0])
})

it('the system clock runs timers and cancels them', async () => {
  let runs = 0
  const every = SYSTEM_CLOCK.setInterval(() => runs++, 1).unref()
  await new Promise<void>((resolve) => SYSTEM_CLOCK.setTimeout(resolve, 20))
  every.cancel()
  const before = runs
  await new Promise<void>((resolve) => SYSTEM_CLOCK.setTimeout(resolve, 10))
  expect([before > 0, runs]).toEqual([true, before])
})
