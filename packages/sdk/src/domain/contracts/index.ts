/** What is being bet on: the terms of markets by written rules, the ids of contracts, and their differences. */
export * from './compare.ts'
export * from './contract-id.ts'
export * from './terms.ts'
export { deriveTerms, mayBePrice, titleWords } from './venues/index.ts'
