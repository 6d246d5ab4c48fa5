import type { Report } from './report-shape.ts'

/** The report as JSON text: the same run gives the same bytes. */
export function printReport(report: Report): string {
  return `${JSON.stringify(report, undefined, 1)}\n`
}

/** The SHA-256 of the report's JSON text. */
export async function hashReport(report: Report): Promise<string> {
  const bytes = new TextEncoder().encode(printReport(report))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
