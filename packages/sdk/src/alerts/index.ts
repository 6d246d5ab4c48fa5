/** Rules of alerts: checked, measured in books, and fired once per crossing; for the service and the command line. */
export * from './ladder-book.ts'
export * from './rule.ts'
export * from './trigger.ts'
export * from './units.ts'
export * from './value.ts'
