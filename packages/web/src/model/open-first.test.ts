import type { ContractJson } from '@priorbook/sdk/client'
import { expect, it } from 'vitest'
import { withOpen } from './open-first.ts'

const row = (id: string, status: string) => ({ id, status }) as unknown as ContractJson

it('lists what is open now first, and what has ended since behind what is scheduled', () => {
  const rows = [row('a', 'open'), row('b', 'open'), row('c', 'scheduled'), row('d', 'resolved')]
  const shown = withOpen(rows, [row('b', 'open'), row('c', 'open')])
  expect(shown.map(({ id, status }) => [id, status])).toEqual([
    ['b', 'open'],
    ['c', 'open'],
    ['a', 'closed'],
    ['d', 'resolved'],
  ])
})
