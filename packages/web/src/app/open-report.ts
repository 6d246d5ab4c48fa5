import { signal } from '@preact/signals'
import type { ReportView } from '../model/report-view.ts'

/** The backtest report that the visitor opened; it stays in this tab's memory and is never sent. */
export const openReport = signal<ReportView | undefined>(undefined)
