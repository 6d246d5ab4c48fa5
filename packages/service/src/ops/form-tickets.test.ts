import { expect, test } from 'vitest'
import { FormTickets } from './form-tickets.ts'

test('a ticket is good once, for one action, for an hour, in one process', () => {
  let now = 1_800_000_000_000
  const tickets = new FormTickets(() => now)
  const [first, second] = [tickets.issue('create'), tickets.issue('create')]
  expect(first).not.toBe(second)
  expect(tickets.redeem('revoke', first)).toMatch(/not one of this page/)
  expect(new FormTickets(() => now).redeem('create', first)).toMatch(/not one of this page/)
  expect(tickets.redeem('create', first)).toBeUndefined()
  expect(tickets.redeem('create', first)).toMatch(/sent before/)
  now += 3_600_001
  expect(tickets.redeem('create', second)).toMatch(/an hour old/)
})
