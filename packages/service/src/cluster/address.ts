const ADDRESS = /^postgres(?:ql)?:\/\//

/** True for the address of a database, in contrast to a folder. */
export function isDatabase(address: string): boolean {
  return ADDRESS.test(address)
}
