import { describe, expect, it } from 'vitest'
import { toStatusLine, type ServiceStatus } from './status.ts'

describe('the status line', () => {
  it('fits into 80 columns', () => {
    const venue = (observations: number) => ({
      connector: { state: 'reconnecting' },
      books: { open: 12_345 },
      counts: { observations },
    })
    const venues = { venuea: venue(9999), venueb: venue(123_456_789), venuec: venue(1e9) }
    const recorder = { venues, lag: { p99Ms: 1234 }, diskFull: true }
    const status = { recorder } as unknown as ServiceStatus
    for (const width of [60, 80, 100, 160]) {
      const line = toStatusLine(status, 12_345, width)
      expect(line.length).toBeLessThanOrEqual(width)
      expect(line).toContain('DISK FULL')
    }
    const wide = toStatusLine(status, 12_345, 200)
    expect(wide).toContain('B reconnecting 12345 books 123M rows')
    const calm = (open: number) => ({
      ...venue(99_999),
      connector: { state: 'recording' },
      books: { open },
    })
    const usual = { venuea: calm(6), venueb: calm(12), venuec: calm(24) }
    const fine = {
      recorder: { ...recorder, venues: usual, diskFull: false },
    } as unknown as ServiceStatus
    expect(toStatusLine(fine, 141, 79)).toBe(
      'A 6 books 100k · B 12 books 100k · C 24 books 100k · 141 msg/s, lag p99 1234 ms',
    )
  })
})
