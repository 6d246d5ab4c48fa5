import { expect, test } from 'vitest'
import type { Strategy } from '../strategy.ts'
import { logStrategy } from './run-log.ts'

test('a logged strategy has every hook of its own', () => {
  const heard: string[] = []
  const strategy: Strategy = {
    name: 'own',
    onQuote: () => void heard.push('quote'),
    onData: () => void heard.push('data'),
  }
  const logged = logStrategy(strategy, () => undefined)
  logged.onQuote!({} as never, {} as never)
  logged.onData!('feed', {} as never, {} as never)
  expect(heard).toEqual(['quote', 'data'])
  expect('onBook' in logged).toBe(false)
  expect(logged.name).toBe('own')
})
