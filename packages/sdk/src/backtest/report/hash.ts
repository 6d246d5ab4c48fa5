import { RunningSha256 } from '../../wire/index.ts'
import type { Report } from './report-shape.ts'

/** The report as JSON text: the same run gives the same bytes. */
export function printReport(report: Report): string {
  return `${JSON.stringify(report, undefined, 1)}\n`
}

/** The SHA-256 of the report's JSON text. */
export function hashReport(report: Report): string {
  const hash = RunningSha256.create()
  const bytes = new TextEncoder().encode(printReport(report))
  hash.update(bytes, 0, bytes.length)
  return hash.digest()
}
