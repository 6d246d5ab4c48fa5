/** What the connectors of all venues share: their contract, quotas, sockets, requests. */
export * from './backoff.ts'
export * from './contract.ts'
export * from './link.ts'
export * from './quota.ts'
export * from './rest.ts'
