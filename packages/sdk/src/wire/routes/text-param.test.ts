import { expect, it } from 'vitest'
import { textParam } from './param.ts'

it('counts characters as its schema does, also those of two UTF-16 units', () => {
  const param = textParam(3)
  expect(param.parse('😀😀😀', 'asset')).toBe('😀😀😀')
  expect(() => param.parse('😀😀😀😀', 'asset')).toThrow('not text of 1 to 3 characters')
  expect(() => param.parse('abcd', 'asset')).toThrow('not text of 1 to 3 characters')
  expect(() => param.parse('', 'asset')).toThrow('not text of 1 to 3 characters')
})
