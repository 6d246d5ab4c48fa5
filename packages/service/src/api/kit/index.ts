/** What routes are made of. */
export * from './addresses.ts'
export * from './cursor.ts'
export * from './market-lookup.ts'
export * from './market-path.ts'
export * from './param.ts'
export * from './params.ts'
export * from './route.ts'
