/** The types of a GPU's check. */

/** Kernels that a device must not get: those that `checkDevice` found wrong or slow. Plain data, to be kept as JSON. */
export interface PassOver {
  /** The browser's name of the adapter. For another adapter the rest means nothing. */
  adapter: string;
  /** Wordloom's version, whose kernels were checked. */
  version: string;
  wrong: string[];
  slow: string[];
}

/** The result of `checkDevice`. */
export interface DeviceCheck {
  /** Whether every kernel was right. */
  right: boolean;
  /** Whether the GPU can be used, perhaps without some kernels. If not, take the CPU. */
  usable: boolean;
  /** One sentence. */
  summary: string;
  /** The report in Markdown, to attach to an issue: adapter, driver, limits, results. Nothing of the user. */
  report: string;
  /** For `CreateOptions.passOver`. */
  passOver: PassOver;
}

/** The call of a check, with its input and output. Partial results are the finished part, 0 to 1. */
export interface CheckCalls {
  checkDevice: { input: 'auto' | 'gpu'; output: DeviceCheck };
}
