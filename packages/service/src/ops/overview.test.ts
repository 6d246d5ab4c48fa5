import { expect, test } from 'vitest'
import type { MemberStatus } from '../cluster/member.ts'
import { toOverview } from './overview.ts'
import type { ServiceStatus } from './status.ts'

const STATUS: ServiceStatus = {
  role: 'capture',
  upstream: 'live',
  disk: { usedBytes: 5e9, freeBytes: 864e9, bytesPerSecond: 1e5, fullInSeconds: 8_640_000 },
  retention: [],
}
const SHARED = { part: 'standby', holder: 'r1@a 1', commit: 7, trouble: undefined } as MemberStatus

test('says when the disk will be full', () => {
  const page = toOverview({ status: STATUS, gaps: [] })
  expect(page).toMatch(
    /5.00 GB kept · 864 GB free · the data folder grows by 8.64 GB a day, full in 100 d \(\d{4}-/,
  )
})

test('says who holds the lease of a shared tape, and who is ready to go on', () => {
  const standbys = [{ name: 'r2@b <2>', venues: ['venueb', 'venuec'], readyMs: 1500 }] as const
  const leases = { holder: 'r1@a 1', epoch: 4, leaseMs: 3200, standbys }
  const status = { ...STATUS, shared: SHARED }
  const page = toOverview({ status, gaps: [], leases })
  expect(page).toContain('<td>r1@a 1</td><td>writes the tape</td><td>epoch 4, for 3.2 s more</td>')
  expect(page).toContain('<td>r2@b &lt;2&gt;</td><td>stands by</td>')
  expect(page).toContain('ready for venueb, venuec for 1.5 s more')
  const late = toOverview({ status, gaps: [], leases: { ...leases, leaseMs: -900, standbys: [] } })
  expect(late).toContain('ran out 900 ms ago')
  const away = toOverview({ status, gaps: [], leases: 'the database does not answer' })
  expect(away).toContain('the database does not answer')
})

test('shows the rest where the tape cannot be read', () => {
  const page = toOverview({ status: STATUS, gaps: 'a row of table gap fails its checksum' })
  expect(page).toContain('fails its checksum')
  expect(page).toContain('<h2>Disk</h2>')
})
