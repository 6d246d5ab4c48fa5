import { expect, it } from 'vitest'
import { timeParam } from './param.ts'

it('takes a time as long as its schema allows, and refuses a longer one', () => {
  const param = timeParam()
  const most = Number(param.schema['maxLength'])
  const text = (length: number): string => `1786410915.${'0'.repeat(length - 11)}`
  expect(param.parse(text(most), 'at')).toBe(1_786_410_915_000_000)
  expect(() => param.parse(text(most + 1), 'at')).toThrow('at is not a time')
})
