import { expect, it } from 'vitest'
import { particularOf } from './market-particular.ts'

it('tells markets with the same title apart', () => {
  const title = 'Bitcoin price at noon?'
  const outcome = 'Target Price: $64,299.99'
  expect(particularOf({ title, strike: '64299.99', event: { outcome } })).toBe(outcome)
  expect(particularOf({ title, strike: 64_299.99, event: { outcome: null } })).toBe(
    'strike 64299.99',
  )
  expect(particularOf({ title, strike: null, event: null })).toBeUndefined()
  expect(particularOf({ title: `Above ${outcome}?`, event: { outcome } })).toBeUndefined()
  expect(particularOf({ title: 'Above 5?', strike: '5', event: null })).toBeUndefined()
  expect(particularOf({ title: null, strike: '5' })).toBe('strike 5')
})
