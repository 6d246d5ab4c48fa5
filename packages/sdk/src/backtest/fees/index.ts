/** What venues charge: dated schedules and exact formulas. */
export * from './charge.ts'
export * from './schedule.ts'
export * from './table.ts'
