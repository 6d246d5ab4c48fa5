import { configKeys } from '../config/index.ts'

/** True when a port is the default one: it was not chosen by the operator, so another port will do. */
export function isDefaultPort(key: 'api.port' | 'ops.port', port: number): boolean {
  return configKeys().some(({ path, default: usual }) => path.join('.') === key && usual === port)
}
