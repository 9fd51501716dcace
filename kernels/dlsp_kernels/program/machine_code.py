"""Compiles LLVM IR to machine code."""

import llvmlite.binding as llvm


def machine_code(source: str, features: tuple[str, ...]) -> llvm.ExecutionEngine:
    """Compile with these processor features, in addition to those that all processors have. The code lives as long as
    the result.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    wanted = ",".join(f"+{name}" for name in features)
    machine = llvm.Target.from_default_triple().create_target_machine(features=wanted, opt=3, jit=True)
    module = llvm.parse_assembly(source)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine
