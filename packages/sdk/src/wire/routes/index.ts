/** The contract of every route: address, parameters, formats, rows and docs, as values. */
export { SchemaComponents, type DocumentPart } from './openapi.ts'
export * from './contract.ts'
export { PARAM_TEXTS } from './docs.ts'
export * from './openapi.ts'
export * from './panel-params.ts'
export * from './param.ts'
export * from './params.ts'
export * from './routes.ts'
