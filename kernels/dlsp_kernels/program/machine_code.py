"""LLVM's language made to machine code."""

import llvmlite.binding as llvm


def machine_code(source: str, features: tuple[str, ...]) -> llvm.ExecutionEngine:
    """The source compiled, with these instructions beside those that all processors have; kept as long as it lives."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    wanted = ",".join(f"+{name}" for name in features)
    machine = llvm.Target.from_default_triple().create_target_machine(features=wanted, opt=3, jit=True)
    module = llvm.parse_assembly(source)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine
