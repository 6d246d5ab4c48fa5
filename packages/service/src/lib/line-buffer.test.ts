import { expect, it } from 'vitest'
import { LineBuffer } from './line-buffer.ts'

it('hands lines on in order, many at a time, none twice', () => {
  const written: string[] = []
  const lines = new LineBuffer({ write: (text) => written.push(text) })
  const all = Array.from({ length: 1000 }, (_, index) => `{"line":${index}}\n`)
  for (const line of all) lines.write(line)
  expect(written.length).toBeLessThan(10)
  lines.flush()
  lines.flush()
  expect(written.join('')).toBe(all.join(''))
})
