import { expect, it } from 'vitest'
import { createProbe } from './probe.ts'

it('asks a quiet subscription for one book after the other', () => {
  const probe = createProbe()
  probe.heard(1, 'A', 0, true)
  probe.heard(1, 'B', 0, true)
  probe.heard(2, 'C', 0, false)
  expect(probe.size).toBe(2)
  expect(probe.due(2499)).toStrictEqual([])
  expect(probe.due(2500)).toStrictEqual([{ sid: 1, ticker: 'A' }])
  expect(probe.due(2600)).toStrictEqual([])
  probe.heard(1, 'A', 2700, true)
  expect(probe.dead(9000)).toStrictEqual([])
  expect(probe.due(5200)).toStrictEqual([{ sid: 1, ticker: 'B' }])
})

it('finds within 6 s what does not answer', () => {
  const probe = createProbe()
  probe.heard(1, 'A', 0, true)
  probe.due(2500)
  expect(probe.dead(5500)).toStrictEqual([])
  expect(probe.dead(5501)).toStrictEqual([1])
  probe.answered(1)
  expect(probe.dead(5501)).toStrictEqual([])
})

it('asks for no market that left', () => {
  const probe = createProbe()
  probe.heard(1, 'A', 0, true)
  probe.forget('A')
  expect(probe.due(9000)).toStrictEqual([])
  probe.heard(1, 'A', 0, true)
  probe.ended(1)
  expect([probe.size, probe.due(9000).length]).toStrictEqual([0, 0])
})
