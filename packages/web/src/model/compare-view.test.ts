import { describe, expect, it } from 'vitest'
import { isSize, parseCompareView, printCompareView } from './compare-view.ts'
import { parsePlace, printPlace } from './place.ts'

describe('the view of a contract', () => {
  it('has the same address again, and a short one where everything is as usual', () => {
    for (const address of [
      '/contracts/btc-15m-up-down-20261117T174500Z',
      '/contracts/x-a?t=2026-11-17T17:31:02.500001Z&side=sell&size=0.25&lines=middle',
      '/contracts?asset=btc&window=15m&status=open',
    ]) {
      const [path = '', query = ''] = address.split('?')
      expect(printPlace(parsePlace(path, query))).toBe(address)
    }
    expect(parsePlace('/contracts/a/b', '').page).toBe('nowhere')
  })

  it('is as usual where an address is wrong', () => {
    const query = new URLSearchParams('t=yesterday&side=both&size=-1&lines=many')
    expect(parseCompareView(query)).toEqual({
      time: undefined,
      side: 'buy',
      size: '100',
      lines: 'quotes',
    })
    expect(printCompareView(parseCompareView(query))).toBe('')
  })

  it('takes sizes that the interface takes', () => {
    expect(['1', '0.00000001', '1234567.5'].every(isSize)).toBe(true)
    expect(['', '0', '0.0', '-1', '1e3', '.5', '1.123456789', '12345678'].some(isSize)).toBe(false)
  })
})
